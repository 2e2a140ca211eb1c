import type { BlobRef, Principal, ServiceError } from '@switchyard/contracts';

/** Maximum size of a chunk on the wire and in memory. */
export const CHUNK_BYTES = 65_536;

/** Properties of a blob that the writer sets before the first byte. */
export interface WriteHead {
  /** From `mintBlobId`. The writer chooses the id, so that it can look up the blob if the reply to `finish` is lost. */
  id: string;
  contentType: string;
  /** Epoch milliseconds. Defaults to `ttlMs` from now and is limited to `maxTtlMs`. */
  expiresAt?: number;
  /** Total size, if known. A blob above the limit is then rejected before it is sent. */
  size?: number;
}

/** One upload. The blob does not exist until `finish` resolves. */
export interface BlobWriter {
  /** Resolves when the store accepts more bytes. */
  append(bytes: Uint8Array): Promise<void>;
  /**
   * Completes the upload. `sha256` is the hex digest of all bytes. Resolves when the blob is durable. Fails DATA_LOSS if the store
   * received other bytes, and discards the upload.
   */
  finish(sha256: string): Promise<BlobRef>;
  /** Discards the upload. Does nothing after `finish`. */
  abort(): Promise<void>;
}

export interface TransferOptions {
  signal?: AbortSignal;
  /** Called if the transfer ends early while the caller is not waiting for it: it was idle, or the store is closed. */
  onEnd?: (reason: ServiceError) => void;
}

export interface ReadOptions extends TransferOptions {
  offset?: number;
  /** Maximum number of bytes; 0 reads to the end. */
  limit?: number;
}

/** A blob and its bytes in chunks of at most 64 KiB, read on demand. Leaving the loop ends the transfer. */
export interface BlobReading {
  ref: BlobRef;
  /** Fails DATA_LOSS before the last chunk if the whole blob is read and its checksum differs. */
  bytes: AsyncIterable<Uint8Array>;
}

/** Expiry time of a blob that is kept without end: the last time that a `Date` can represent. */
export const NO_EXPIRY_MS = 8_640_000_000_000_000;

export interface KeepOptions {
  /** The record that needs the blob, such as `graph-run/run_1`. 1 to 256 printable ASCII characters without spaces. */
  owner: string;
  /** Epoch milliseconds, in the future and not limited to `maxTtlMs`. Without it the blob is kept until `release`. */
  expiresAt?: number;
}

/** A blob that belongs to an owner. `expiresAt` is `NO_EXPIRY_MS` if it is kept without end. */
export interface KeptBlob extends BlobRef {
  owner: string;
}

export interface ListKeptOptions {
  owner: string;
  /** Id of the last blob of the previous page. */
  after?: string;
  /** 1 to 1,000; 100 by default. */
  limit?: number;
}

/** Default of `ListKeptOptions.limit`. */
export const LIST_PAGE_SIZE = 100;

/** The kept bytes of a tenant, and its quota. */
export interface KeptUsage {
  blobs: number;
  bytes: number;
  maxBytes: number;
}

/** The blobs of one tenant. Blobs of other tenants do not exist here. */
export interface Blobs {
  /** Starts an upload. Fails ALREADY_EXISTS if the blob exists. */
  write(head: WriteHead, options?: TransferOptions): Promise<BlobWriter>;
  /** Fails NOT_FOUND if the blob is unknown, incomplete or expired. */
  status(id: string): Promise<BlobRef>;
  /** Fails NOT_FOUND if the blob is unknown, incomplete or expired. */
  read(id: string, options?: ReadOptions): Promise<BlobReading>;
  /** Deletes the blob. Idempotent. Fails FAILED_PRECONDITION, `BLOB_KEPT`, if the blob has an owner. */
  remove(id: string): Promise<void>;
  /**
   * Keeps a complete blob for an owner beyond the lifetime of temporary blobs. Called again by the same owner, it sets the expiry time
   * again. Fails NOT_FOUND if the blob is unknown or expired, FAILED_PRECONDITION, `BLOB_OWNED`, if it has another owner, and
   * RESOURCE_EXHAUSTED, `BLOB_QUOTA_EXCEEDED`, above the quota of the tenant.
   */
  keep(id: string, options: KeepOptions): Promise<KeptBlob>;
  /** Deletes a kept blob of the owner. Idempotent. Fails FAILED_PRECONDITION, `BLOB_OWNED`, if it has another owner. */
  release(id: string, owner: string): Promise<void>;
  /** Lists the kept blobs of an owner by id. */
  listKept(options: ListKeptOptions): Promise<KeptBlob[]>;
  /** Counts what the tenant keeps. */
  usage(): Promise<KeptUsage>;
}

/** Storage for large binaries, temporary unless they are kept. All errors are `ServiceError`s. */
export interface BlobStore {
  for(principal: Pick<Principal, 'tenant'>): Blobs;
  /** Ends all transfers and discards unfinished uploads. */
  close(): Promise<void>;
}
