import { createHash, randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import type { Blobs, BlobStore, WriteHead } from '../store/blob-store.ts';
import { mintBlobId } from '../store/validate-blob.ts';
import type { BlobLimits } from '../store/blob-limits.ts';

/** What a suite opens: a store on an empty place, or on one that was used before, on a clock of its own. */
export interface OpenOptions {
  /** The same name is the same place. */
  place: string;
  limits?: Partial<BlobLimits>;
  now?: () => number;
}

export type OpenBlobs = (options: OpenOptions) => Promise<BlobStore>;

export const [a, b] = [{ tenant: 'a' }, { tenant: 'b' }];
export const TYPE = 'application/octet-stream';

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Bytes that no two tests share. */
export function someBytes(count: number): Buffer {
  return randomBytes(count);
}

export function newHead(id = mintBlobId()): WriteHead {
  return { id, contentType: TYPE };
}

/** A store of the test's own, closed at its end. */
export function opener(open: OpenBlobs): (t: TestContext, options?: Partial<OpenOptions>) => Promise<BlobStore> {
  return async (t, options = {}) => {
    const store = await open({ place: mintBlobId(), ...options });
    t.after(() => store.close());
    return store;
  };
}

/** Everything, from an offset on. */
export async function readAll(blobs: Blobs, id: string, options: { offset?: number; limit?: number } = {}): Promise<Buffer> {
  const { bytes } = await blobs.read(id, options);
  return collect(bytes);
}

export async function collect(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}

/** Writes in one go. */
export async function writeAll(
  blobs: Blobs,
  head: WriteHead,
  bytes: Uint8Array,
): Promise<ReturnType<Awaited<ReturnType<Blobs['write']>>['finish']>> {
  const writer = await blobs.write(head);
  await writer.append(bytes);
  return writer.finish(sha256(bytes));
}
