import type { BlobRef } from '@switchyard/contracts';

/** Identifies a blob. Both parts are validated, but neither is safe as a path or in a query. */
export interface BlobKey {
  tenant: string;
  id: string;
}

/** Properties that are set when an upload starts. */
export interface UploadOptions {
  contentType: string;
  /** Epoch milliseconds. */
  expiresAt: number;
}

/** An upload in progress. Several uploads of the same key do not affect each other. */
export interface Upload {
  append(bytes: Uint8Array): Promise<void>;
  /** Publishes the blob atomically and durably. Fails ALREADY_EXISTS if another upload of the key was committed first. */
  commit(sha256: string): Promise<BlobRef>;
  discard(): Promise<void>;
}

/**
 * Storage of the bytes. Several processes may share it. Validation, limits, timeouts and checksums are the same for all backends
 * and belong to `createBlobStore`.
 */
export interface BlobBackend {
  upload(key: BlobKey, options: UploadOptions): Promise<Upload>;
  /** Returns undefined for unknown and incomplete blobs. Expired blobs are found until a sweep deletes them. */
  find(key: BlobKey): Promise<BlobRef | undefined>;
  /** Reads the bytes from offset `from` up to `to`. */
  read(key: BlobKey, from: number, to: number): AsyncGenerator<Uint8Array, void, void>;
  remove(key: BlobKey): Promise<void>;
  /** Deletes blobs that expired before `now` and uploads without progress since `abandonedBefore`. Returns the number of deletions. */
  sweep(now: number, abandonedBefore: number): Promise<number>;
  close(): Promise<void>;
}
