import { createHash } from 'node:crypto';
import { ServiceError, type BlobRef } from '@switchyard/contracts';
import { CHUNK_BYTES, type Blobs } from '../store/blob-store.ts';
import { mintBlobId } from '../store/validate-blob.ts';
import { createRetry, type Retry } from './retry.ts';

/** Returns all bytes from the start. Called again for each attempt; must return the same bytes each time. */
export type Source = () => AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

export interface PutOptions {
  contentType: string;
  /** Defaults to a new id. */
  id?: string;
  expiresAt?: number;
  size?: number;
  signal?: AbortSignal;
}

/** Writes a blob. Starts again after a retryable error, such as a lost connection. */
export async function putBlob(blobs: Blobs, source: Source, { id = mintBlobId(), signal, ...options }: PutOptions): Promise<BlobRef> {
  const retry = createRetry(signal);
  for (;;) {
    try {
      return await writeBlob();
    } catch (error) {
      await retry.wait(error);
    }
    // The blob exists if only the reply to `finish` was lost.
    const ref = await findBlob(blobs, id, retry);
    if (ref !== undefined) return ref;
  }

  async function writeBlob(): Promise<BlobRef> {
    const writer = await blobs.write({ id, ...options }, signal === undefined ? {} : { signal });
    try {
      const hash = createHash('sha256');
      for await (const bytes of source()) {
        hash.update(bytes);
        await writer.append(bytes);
      }
      return await writer.finish(hash.digest('hex'));
    } finally {
      await writer.abort();
    }
  }
}

async function findBlob(blobs: Blobs, id: string, retry: Retry): Promise<BlobRef | undefined> {
  for (;;) {
    try {
      return await blobs.status(id);
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'NOT_FOUND') return undefined;
      await retry.wait(error);
    }
  }
}

/** Creates a source from bytes in memory. */
export function createSource(bytes: Uint8Array): Source {
  return function* chunks() {
    for (let start = 0; start < bytes.length; start += CHUNK_BYTES) yield bytes.subarray(start, start + CHUNK_BYTES);
  };
}
