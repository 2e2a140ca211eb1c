import type { Logger } from '@switchyard/telemetry';
import type { Backend, BlobKey } from './blob-backend.ts';
import type { Blobs, BlobStore } from './blob-store.ts';
import { checkHead, checkId, checkRange, checkTenant } from './validate-blob.ts';
import { expiredBlob, takenOver, unknownBlob } from './blob-errors.ts';
import { BLOB_LIMITS, type BlobLimits } from './blob-limits.ts';
import { openReading } from './blob-reader.ts';
import { openWriter, type Writing } from './blob-writer.ts';
import { startSweeper } from './sweeper.ts';
import { createTransfers } from './transfer-limiter.ts';

export interface BlobStoreOptions {
  log: Logger;
  limits?: Partial<BlobLimits>;
  now?: () => number;
}

/** Blobs over a backend: who may, how much, how long, and whether what is kept is what was sent. Closing it closes the backend. */
export function createBlobStore(backend: Backend, { log, limits: given = {}, now = Date.now }: BlobStoreOptions): BlobStore {
  const limits = { ...BLOB_LIMITS, ...given };
  const transfers = createTransfers(limits);
  const deps = { backend, limits, transfers, now };
  const writers = new Map<string, Writing>();
  const sweeper = startSweeper({ backend, limits, log, now });

  /** Of two that write under one id the later one goes on: the earlier may be a connection that is dead and does not know. */
  async function write(key: BlobKey, ...[head, options]: Parameters<Blobs['write']>): Promise<Writing> {
    checkHead(head);
    const name = `${key.id} ${key.tenant}`;
    const writer = openWriter(deps, { key, head, ...options });
    const before = writers.get(name);
    writers.set(name, writer);
    const forget = (): void => void (writers.get(name) === writer && writers.delete(name));
    try {
      await writer.opened(before?.end(takenOver(key.id)) ?? Promise.resolve());
    } catch (error) {
      forget();
      throw error;
    }
    return { ...writer, leave: () => writer.leave().finally(forget), finish: (sha256) => writer.finish(sha256).finally(forget) };
  }

  async function status(key: BlobKey): ReturnType<Blobs['status']> {
    checkId(key.id);
    const found = await backend.find(key);
    if (found === undefined) throw unknownBlob(key.id);
    if (found.ref !== undefined && found.ref.expiresAt <= now()) throw expiredBlob(key.id);
    return found;
  }

  return {
    for({ tenant }) {
      checkTenant(tenant);
      const keyOf = (id: string): BlobKey => ({ tenant, id });
      return {
        write: (head, options) => write(keyOf(head.id), head, options),
        status: (id) => status(keyOf(id)),
        async read(id, options = {}) {
          checkId(id);
          checkRange(options);
          return openReading(deps, keyOf(id), options);
        },
        async remove(id) {
          checkId(id);
          await backend.remove(keyOf(id));
        },
      };
    },
    async close() {
      transfers.close();
      await Promise.all([...writers.values()].map((writer) => writer.leave()));
      await sweeper.stop();
      await backend.close();
    },
  };
}
