import { createHash } from 'node:crypto';
import { blobCorrupted } from '../store/blob-errors.ts';
import type { BlobReading, Blobs, ReadOptions } from '../store/blob-store.ts';
import { createRetry } from './retry.ts';

/** Reads a blob. After a retryable error, such as a lost connection, it continues at the current offset. Verifies the SHA-256 of a whole blob. */
export async function readBlob(blobs: Blobs, id: string, options: ReadOptions = {}): Promise<BlobReading> {
  const retry = createRetry(options.signal);
  const { offset = 0, limit = 0 } = options;
  let reading: BlobReading | undefined;
  while (reading === undefined) reading = await blobs.read(id, options).catch((error: unknown) => retry.wait(error).then(() => undefined));
  const { ref, bytes } = reading;
  const end = limit === 0 ? ref.size : Math.min(ref.size, offset + limit);

  async function* chunks(): AsyncGenerator<Uint8Array, void, void> {
    const hash = offset === 0 && end === ref.size ? createHash('sha256') : undefined;
    let position = offset;
    for (let source: AsyncIterable<Uint8Array> | undefined = bytes; position < end;) {
      try {
        source ??= (await blobs.read(id, { ...options, offset: position, limit: end - position })).bytes;
        for await (const chunk of source) {
          position += chunk.length;
          hash?.update(chunk);
          if (position >= end && hash !== undefined && hash.digest('hex') !== ref.sha256) throw blobCorrupted(id);
          retry.reset();
          yield chunk;
        }
        if (position < end) throw blobCorrupted(id);
      } catch (error) {
        await retry.wait(error);
        source = undefined;
      }
    }
  }

  return { ref, bytes: chunks() };
}
