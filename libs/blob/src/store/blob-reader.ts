import { createHash } from 'node:crypto';
import type { BlobRef, ServiceError } from '@switchyard/contracts';
import type { BlobBackend, BlobKey } from './blob-backend.ts';
import { blobCorrupted, expiredBlob, offsetBeyondEnd, unknownBlob } from './blob-errors.ts';
import type { BlobReading, ReadOptions } from './blob-store.ts';
import type { TransferLimiter } from './transfer-limiter.ts';

export interface ReaderDeps {
  backend: BlobBackend;
  transfers: TransferLimiter;
  now: () => number;
}

/** Opens a blob for reading. The transfer ends when the caller leaves the loop or stays idle for too long. */
export async function openReader({ backend, transfers, now }: ReaderDeps, key: BlobKey, options: ReadOptions): Promise<BlobReading> {
  const { offset = 0, limit = 0, signal, onEnd } = options;
  let endReason: ServiceError | undefined;
  let source: AsyncGenerator<Uint8Array, void, void> | undefined;
  const transfer = transfers.begin({
    tenant: key.tenant,
    name: `read of ${key.id}`,
    signal,
    async onEnd(reason) {
      endReason = reason;
      onEnd?.(reason);
      await source?.return().catch(() => undefined);
    },
  });
  try {
    const { ref } = (await transfer.pauseIdleTimer(() => backend.find(key))) ?? {};
    if (ref === undefined) throw unknownBlob(key.id);
    if (ref.expiresAt <= now()) throw expiredBlob(key.id);
    if (offset > ref.size) throw offsetBeyondEnd(offset, ref.size);
    const to = limit === 0 ? ref.size : Math.min(ref.size, offset + limit);
    const chunks = (source = backend.read(key, offset, to));
    return { ref, bytes: withTransfer(offset === 0 && to === ref.size ? verify(ref, chunks) : chunks) };
  } catch (error) {
    transfer[Symbol.dispose]();
    throw error;
  }

  async function* withTransfer(chunks: AsyncGenerator<Uint8Array, void, void>): AsyncGenerator<Uint8Array, void, void> {
    try {
      for (;;) {
        if (endReason !== undefined) throw endReason;
        const chunk = await transfer.pauseIdleTimer(() => chunks.next());
        if (endReason !== undefined) throw endReason;
        if (chunk.done === true) return;
        yield chunk.value;
      }
    } finally {
      transfer[Symbol.dispose]();
      await chunks.return().catch(() => undefined);
    }
  }
}

/** Checks the SHA-256 of a whole blob before it yields the last chunk. */
async function* verify(ref: BlobRef, chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
  const hash = createHash('sha256');
  let remaining = ref.size;
  for await (const chunk of chunks) {
    remaining -= chunk.length;
    hash.update(chunk);
    if (remaining === 0 && hash.copy().digest('hex') !== ref.sha256) throw blobCorrupted(ref.id);
    yield chunk;
  }
}
