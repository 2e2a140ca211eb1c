import { createHash } from 'node:crypto';
import { ServiceError, type BlobRef } from '@switchyard/contracts';
import { CHUNK_BYTES, type Blobs } from '../store/blob-store.ts';
import { mintBlobId } from '../store/validate-blob.ts';
import { createPatience } from './retry.ts';

/** The bytes from an offset on: asked for again when a write was cut off, and the same each time. */
export type Source = (offset: number) => AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

export interface PutOptions {
  contentType: string;
  /** That of a write which another process began. */
  id?: string;
  expiresAt?: number;
  size?: number;
  signal?: AbortSignal;
}

/** Writes a whole blob. What is cut off is continued where it was cut; without progress it gives up after a few times. */
export async function putBlob(blobs: Blobs, source: Source, { id = mintBlobId(), signal, ...said }: PutOptions): Promise<BlobRef> {
  const patience = createPatience(signal);
  const sum = createHash('sha256');
  let [hashed, offset] = [0, 0];

  async function attempt(): Promise<BlobRef> {
    const writer = await blobs.write({ id, ...said, offset }, signal === undefined ? {} : { signal });
    try {
      let at = Math.min(offset, hashed);
      for await (const bytes of source(at)) {
        const end = at + bytes.length;
        if (end > hashed) sum.update(bytes.subarray(hashed - at));
        hashed = Math.max(hashed, end);
        if (end > offset) await writer.append(bytes.subarray(Math.max(offset - at, 0)));
        at = end;
      }
      return await writer.finish(sum.copy().digest('hex'));
    } finally {
      await writer.leave();
    }
  }

  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      await patience.wait(error);
    }
    const { offset: there, ref } = await stateOf(blobs, id, patience);
    if (ref !== undefined) return ref;
    if (there > offset) patience.renew();
    offset = there;
  }
}

/** A write that nobody knows begins at the beginning. */
async function stateOf(blobs: Blobs, id: string, patience: ReturnType<typeof createPatience>): ReturnType<Blobs['status']> {
  for (;;) {
    try {
      return await blobs.status(id);
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'NOT_FOUND') return { offset: 0, ref: undefined };
      await patience.wait(error);
    }
  }
}

/** Bytes that are in memory, as a source. */
export function bytesOf(bytes: Uint8Array): Source {
  return function* pieces(offset) {
    for (let at = offset; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
  };
}
