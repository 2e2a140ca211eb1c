/** Identifies a file. Each tenant has its own ids. */
export interface BucketKey {
  tenant: string;
  id: string;
}

/** Properties that are set when an upload starts. */
export interface BucketFileOptions {
  contentType: string;
  /** Epoch milliseconds. */
  expiresAt: number;
}

/** A complete file. */
export interface BucketFile extends BucketFileOptions {
  length: number;
  sha256: string;
  /** Epoch milliseconds. */
  savedAt: number;
}

/** An upload in progress. No other caller can read or continue it. */
export interface BucketUpload {
  append(bytes: Uint8Array): Promise<void>;
  /** Publishes the file. Fails ALREADY_EXISTS if another upload with the same key was committed first. */
  commit(sha256: string): Promise<BucketFile>;
  /** Deletes the uploaded bytes. */
  abort(): Promise<void>;
}

/** Large files in a database. */
export interface Bucket {
  upload(key: BucketKey, options: BucketFileOptions): Promise<BucketUpload>;
  find(key: BucketKey): Promise<BucketFile | undefined>;
  /** Reads the bytes from offset `from` up to `to`. Fails NOT_FOUND if the file does not exist or is deleted while it is read. */
  read(key: BucketKey, from: number, to: number): AsyncGenerator<Uint8Array, void, void>;
  remove(key: BucketKey): Promise<void>;
  /** Deletes files that expired before `now` and uploads without progress since `abandonedBefore`. Returns the number of deletions. */
  sweep(now: number, abandonedBefore: number): Promise<number>;
  close(): Promise<void>;
}
