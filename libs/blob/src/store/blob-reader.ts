import { createHash } from 'node:crypto';
import type { BlobRef, ServiceError } from '@switchyard/contracts';
import type { Backend, BlobKey } from './blob-backend.ts';
import type { BlobReading, ReadOptions } from './blob-store.ts';
import { beyondEnd, expiredBlob, notWhatWasWritten, unknownBlob } from './blob-errors.ts';
import type { Transfers } from './transfer-limiter.ts';

export interface ReadingDeps {
  backend: Backend;
  transfers: Transfers;
  now: () => number;
}

/** Opens a blob for reading; its place is free again when the loop is left, or after nobody asked for more for a while. */
export async function openReading({ backend, transfers, now }: ReadingDeps, key: BlobKey, options: ReadOptions): Promise<BlobReading> {
  const { offset = 0, limit = 0, signal, onEnd } = options;
  let stopped: ServiceError | undefined;
  let source: AsyncGenerator<Uint8Array, void, void> | undefined;
  const transfer = transfers.begin({
    tenant: key.tenant,
    what: `the reading of ${key.id}`,
    signal,
    onEnd(why) {
      stopped = why;
      onEnd?.(why);
      void source?.return().catch(() => undefined);
    },
  });
  try {
    const ref = (await transfer.during(() => backend.find(key)))?.ref;
    if (ref === undefined) throw unknownBlob(key.id);
    if (ref.expiresAt <= now()) throw expiredBlob(key.id);
    if (offset > ref.size) throw beyondEnd(offset, ref.size);
    const to = limit === 0 ? ref.size : Math.min(ref.size, offset + limit);
    const opened = (source = backend.read(key, offset, to));
    const pieces = offset === 0 && to === ref.size ? verified(ref, opened) : opened;
    return { ref, bytes: paced(pieces) };
  } catch (error) {
    transfer[Symbol.dispose]();
    throw error;
  }

  async function* paced(pieces: AsyncGenerator<Uint8Array, void, void>): AsyncGenerator<Uint8Array, void, void> {
    try {
      for (;;) {
        if (stopped !== undefined) throw stopped;
        const piece = await transfer.during(() => pieces.next());
        if (stopped !== undefined) throw stopped;
        if (piece.done === true) return;
        yield piece.value;
      }
    } finally {
      transfer[Symbol.dispose]();
      await pieces.return().catch(() => undefined);
    }
  }
}

/** Holds a blob that is read whole against its checksum, before the last piece is given away. */
async function* verified(ref: BlobRef, pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
  const hash = createHash('sha256');
  let left = ref.size;
  for await (const piece of pieces) {
    left -= piece.length;
    hash.update(piece);
    if (left === 0 && hash.copy().digest('hex') !== ref.sha256) throw notWhatWasWritten(ref.id);
    yield piece;
  }
}
