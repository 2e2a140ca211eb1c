import { createHash } from 'node:crypto';
import type { BlobReading, Blobs, ReadOptions } from '../store/blob-store.ts';
import { notWhatWasWritten } from '../store/blob-errors.ts';
import { createPatience } from './retry.ts';

/** As `blobs.read`, but a reading that is cut off goes on where it was cut, and what was read whole is held against its checksum here. */
export async function readBlob(blobs: Blobs, id: string, options: ReadOptions = {}): Promise<BlobReading> {
  const patience = createPatience(options.signal);
  const { offset = 0, limit = 0 } = options;
  let opened: BlobReading | undefined;
  while (opened === undefined) opened = await blobs.read(id, options).catch((error: unknown) => patience.wait(error).then(() => undefined));
  const { ref, bytes } = opened;
  const end = limit === 0 ? ref.size : Math.min(ref.size, offset + limit);

  async function* pieces(): AsyncGenerator<Uint8Array, void, void> {
    const sum = offset === 0 && end === ref.size ? createHash('sha256') : undefined;
    let at = offset;
    for (let source: AsyncIterable<Uint8Array> | undefined = bytes; at < end;) {
      try {
        source ??= (await blobs.read(id, { ...options, offset: at, limit: end - at })).bytes;
        for await (const piece of source) {
          at += piece.length;
          sum?.update(piece);
          if (at >= end && sum !== undefined && sum.digest('hex') !== ref.sha256) throw notWhatWasWritten(id);
          patience.renew();
          yield piece;
        }
        if (at < end) throw notWhatWasWritten(id);
      } catch (error) {
        await patience.wait(error);
        source = undefined;
      }
    }
  }

  return { ref, bytes: pieces() };
}
