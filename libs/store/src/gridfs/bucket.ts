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
  /** Set if the file is kept. */
  owner?: string;
}

export interface KeepFileOptions {
  owner: string;
  /** Epoch milliseconds. */
  expiresAt: number;
  /** The current time. Files that expired before it are not kept. */
  now: number;
}

export interface ListKeptFilesOptions {
  owner: string;
  /** Id of the last file of the previous page, or empty. */
  after: string;
  limit: number;
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
  /** Deletes the file. Returns false, and deletes nothing, if it is kept. */
  remove(key: BucketKey): Promise<boolean>;
  /**
   * Sets owner and expiry time of a file without an owner or with this owner. Returns the file, with another owner if it has one, or
   * undefined if it does not exist or is expired.
   */
  keep(key: BucketKey, options: KeepFileOptions): Promise<BucketFile | undefined>;
  /** Deletes a file of this owner. Returns the file, with another owner if it has one and was not deleted, or undefined. */
  release(key: BucketKey, owner: string): Promise<BucketFile | undefined>;
  /** Returns the kept files of an owner ordered by id. */
  listKept(tenant: string, options: ListKeptFilesOptions): Promise<(BucketFile & { id: string })[]>;
  /** Counts the kept files of a tenant. */
  sumKept(tenant: string): Promise<{ files: number; bytes: number }>;
  /** Deletes files that expired before `now` and uploads without progress since `abandonedBefore`. Returns the number of deletions. */
  sweep(now: number, abandonedBefore: number): Promise<number>;
  close(): Promise<void>;
}
