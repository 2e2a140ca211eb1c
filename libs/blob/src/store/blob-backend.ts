import type { BlobRef } from '@switchyard/contracts';
import type { BlobStatus } from './blob-store.ts';

/** Whose, and which. Both were checked; neither is a path or part of a statement by itself. */
export interface BlobKey {
  tenant: string;
  id: string;
}

/** What is kept of an upload from its first byte on. */
export interface UploadFacts {
  contentType: string;
  /** When the blob will expire, epoch milliseconds. */
  expiresAt: number;
}

/** An upload that is open for more. */
export interface Upload {
  /** How many bytes are there. */
  readonly offset: number;
  /** What is there, from the start. */
  contents(): AsyncIterable<Uint8Array>;
  append(bytes: Uint8Array): Promise<void>;
  /** All of it is there: from one moment to the next the blob exists, and outlasts a crash. */
  commit(sha256: string): Promise<BlobRef>;
  discard(): Promise<void>;
  /** Leaves what has arrived. */
  release(): Promise<void>;
}

/**
 * Where the bytes are. Two processes may work in one backend; within a process nobody opens an upload that is open. What is refused,
 * counted, timed or verified is the same for all and stands above it, in `createBlobStore`.
 */
export interface Backend {
  /** Goes on with an upload, or begins it with these facts. ALREADY_EXISTS when the blob is there. */
  open(key: BlobKey, facts: UploadFacts): Promise<Upload>;
  find(key: BlobKey): Promise<BlobStatus | undefined>;
  /** The bytes of a blob, from one offset up to another. */
  read(key: BlobKey, from: number, to: number): AsyncGenerator<Uint8Array, void, void>;
  remove(key: BlobKey): Promise<void>;
  /** How many uploads of a tenant are unfinished. */
  uploads(tenant: string): Promise<number>;
  /** Removes what expired before `now`, and uploads that nobody has continued since `abandoned`. Gives how many. */
  sweep(now: number, abandoned: number): Promise<number>;
  close(): Promise<void>;
}
