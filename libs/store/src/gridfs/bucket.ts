/** Whose, and which: together the name of a file. */
export interface BucketKey {
  tenant: string;
  id: string;
}

/** What is said of a file when it is begun. */
export interface BucketFacts {
  contentType: string;
  /** Epoch milliseconds. */
  expiresAt: number;
}

export interface BucketFile extends BucketFacts {
  length: number;
  /** Once all of it is there. */
  sha256: string | undefined;
  /** Since when; epoch milliseconds. */
  savedAt: number | undefined;
}

/** A file that is open for more. */
export interface BucketUpload {
  readonly length: number;
  /** ABORTED when somebody else has opened the upload since. */
  append(bytes: Uint8Array): Promise<void>;
  /** From one moment to the next the file exists. */
  commit(sha256: string): Promise<BucketFile>;
  discard(): Promise<void>;
  /** Leaves what has arrived. */
  release(): Promise<void>;
}

/**
 * Large files in a database, in the layout of GridFS: its tools read them. Each piece is written when it is there and not when the
 * file is whole, so that an upload can be continued, by another process too.
 */
export interface Bucket {
  /** Goes on with an upload, or begins it with these facts. ALREADY_EXISTS when the file is there. */
  open(key: BucketKey, facts: BucketFacts): Promise<BucketUpload>;
  find(key: BucketKey): Promise<BucketFile | undefined>;
  /** The bytes from one offset up to another, of a file or of what there is of it. */
  read(key: BucketKey, from: number, to: number): AsyncGenerator<Uint8Array, void, void>;
  remove(key: BucketKey): Promise<void>;
  unfinished(tenant: string): Promise<number>;
  /** Removes what expired before `now`, and uploads that nobody has continued since `abandoned`. Gives how many. */
  sweep(now: number, abandoned: number): Promise<number>;
  close(): Promise<void>;
}
