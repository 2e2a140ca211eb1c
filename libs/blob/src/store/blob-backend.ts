import type { BlobRef } from '@switchyard/contracts';
import type { KeptBlob, KeptUsage, ListKeptOptions } from './blob-store.ts';

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

/** A complete blob, and its owner if it is kept. */
export interface StoredBlob {
  ref: BlobRef;
  owner?: string;
}

/** Options of `keep`; `expiresAt` is set. */
export interface BackendKeepOptions {
  owner: string;
  expiresAt: number;
  /** The current time. A blob that expired before it is not kept. */
  now: number;
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
  find(key: BlobKey): Promise<StoredBlob | undefined>;
  /** Reads the bytes from offset `from` up to `to`. */
  read(key: BlobKey, from: number, to: number): AsyncGenerator<Uint8Array, void, void>;
  /** Fails `BLOB_KEPT` if the blob has an owner. */
  remove(key: BlobKey): Promise<void>;
  /**
   * Sets owner and expiry time durably. The first of two owners wins and the other fails `BLOB_OWNED`. Returns undefined if the blob
   * does not exist or is expired.
   */
  keep(key: BlobKey, options: BackendKeepOptions): Promise<KeptBlob | undefined>;
  /** Deletes a kept blob and returns its size, or undefined if it does not exist. Fails `BLOB_OWNED` if it has another owner. */
  release(key: BlobKey, owner: string): Promise<number | undefined>;
  /** Returns the kept blobs of an owner after an id, ordered by id. */
  listKept(tenant: string, options: Required<ListKeptOptions>): Promise<KeptBlob[]>;
  /** Counts the kept blobs of a tenant. Reads each of them, so callers cache the result. */
  sumKept(tenant: string): Promise<Omit<KeptUsage, 'maxBytes'>>;
  /** Deletes blobs that expired before `now` and uploads without progress since `abandonedBefore`. Returns the number of deletions. */
  sweep(now: number, abandonedBefore: number): Promise<number>;
  close(): Promise<void>;
}
