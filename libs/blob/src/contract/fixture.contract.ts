import { createHash, randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import type { BlobRef } from '@switchyard/contracts';
import type { BlobLimits } from '../store/blob-limits.ts';
import type { Blobs, BlobStore, WriteHead } from '../store/blob-store.ts';
import { mintBlobId } from '../store/validate-blob.ts';

export interface OpenOptions {
  /** Names the storage. Opening the same location again finds the blobs that were written there. */
  location: string;
  limits?: Partial<BlobLimits>;
  now?: () => number;
}

export type OpenBlobs = (options: OpenOptions) => Promise<BlobStore>;

export const [a, b] = [{ tenant: 'a' }, { tenant: 'b' }];
export const TYPE = 'application/octet-stream';

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

export function someBytes(count: number): Buffer {
  return randomBytes(count);
}

export function newHead(id = mintBlobId()): WriteHead {
  return { id, contentType: TYPE };
}

/** Returns a function that opens a store for one test, in a new location by default, and closes it after the test. */
export function createOpener(open: OpenBlobs): (t: TestContext, options?: Partial<OpenOptions>) => Promise<BlobStore> {
  return async (t, options = {}) => {
    const store = await open({ location: mintBlobId(), ...options });
    t.after(() => store.close());
    return store;
  };
}

export async function readAll(blobs: Blobs, id: string, options: { offset?: number; limit?: number } = {}): Promise<Buffer> {
  const { bytes } = await blobs.read(id, options);
  return collect(bytes);
}

export async function collect(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(chunks));
}

/** Writes a blob in one attempt. */
export async function writeAll(blobs: Blobs, head: WriteHead, bytes: Uint8Array): Promise<BlobRef> {
  const writer = await blobs.write(head);
  await writer.append(bytes);
  return writer.finish(sha256(bytes));
}
