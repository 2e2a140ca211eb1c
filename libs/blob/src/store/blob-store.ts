import type { BlobRef, Principal, ServiceError } from '@switchyard/contracts';

/** No piece of a blob travels or waits in memory larger than this. */
export const CHUNK_BYTES = 65_536;

/** What a write says before its first byte. */
export interface WriteHead {
  /** From `mintBlobId`: made up by whoever writes, so that a write that was cut off can be continued under it. */
  id: string;
  contentType: string;
  /** Where these bytes begin: 0, which is where nothing is said, or what `status` says. */
  offset?: number;
  /** Epoch milliseconds. The store keeps nothing for longer than it says itself, and an hour unless asked. */
  expiresAt?: number;
  /** How many bytes there will be in all, if that is known: what is too large is refused at once. */
  size?: number;
}

/** One write, held by one writer: whoever comes later under its id takes it over, and this one fails ABORTED. */
export interface BlobWriter {
  /** Resolves when more may come: who waits for it is never ahead of the store. */
  append(bytes: Uint8Array): Promise<void>;
  /**
   * Says that this was all, with the SHA-256 of everything from offset 0 on, in hex. Once it resolves the blob is there and on the disk.
   * DATA_LOSS when something else has arrived: that is thrown away, and the write begins anew.
   */
  finish(sha256: string): Promise<BlobRef>;
  /** Leaves what has arrived to whoever continues it. After `finish` it does nothing. */
  leave(): Promise<void>;
}

/** How far a write has come, and the blob once all of it is there. */
export interface BlobStatus {
  offset: number;
  ref: BlobRef | undefined;
}

export interface TransferOptions {
  signal?: AbortSignal;
  /** Told when it ends before its time while nobody waits for it: nothing moved, another writer took over, the store is closed. */
  onEnd?: (why: ServiceError) => void;
}

export interface ReadOptions extends TransferOptions {
  offset?: number;
  /** At most so many bytes; all unless said. */
  limit?: number;
}

/** A blob, and its bytes in pieces of at most 64 KiB, read as they are asked for. Leaving the loop ends the reading. */
export interface BlobReading {
  ref: BlobRef;
  /** Fails DATA_LOSS before its last piece when a blob is read whole and is not what was written. */
  bytes: AsyncIterable<Uint8Array>;
}

/** The blobs of one tenant; another's are unknown. */
export interface Blobs {
  /**
   * OUT_OF_RANGE when the bytes begin elsewhere than at the end of those that are there (`details.offset` says where that is),
   * ALREADY_EXISTS when all of them are.
   */
  write(head: WriteHead, options?: TransferOptions): Promise<BlobWriter>;
  /** NOT_FOUND when nothing under this id is there. */
  status(id: string): Promise<BlobStatus>;
  /** NOT_FOUND when it is unknown, not whole yet, or expired. */
  read(id: string, options?: ReadOptions): Promise<BlobReading>;
  /** Forgets it, whole or not. Doing it again changes nothing. */
  remove(id: string): Promise<void>;
}

/** Keeps large bytes for a while. Everything fails with a `ServiceError`. */
export interface BlobStore {
  for(principal: Pick<Principal, 'tenant'>): Blobs;
  /** Ends what runs: writes can be continued elsewhere. */
  close(): Promise<void>;
}
