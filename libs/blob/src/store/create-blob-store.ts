import type { Logger } from '@switchyard/telemetry';
import type { BlobBackend, BlobKey } from './blob-backend.ts';
import { expiredBlob, unknownBlob } from './blob-errors.ts';
import { BLOB_LIMITS, type BlobLimits } from './blob-limits.ts';
import { openReader } from './blob-reader.ts';
import type { Blobs, BlobStore } from './blob-store.ts';
import { openWriter } from './blob-writer.ts';
import { startSweeper } from './sweeper.ts';
import { createTransferLimiter } from './transfer-limiter.ts';
import { validateHead, validateId, validateRange, validateTenant } from './validate-blob.ts';

export interface BlobStoreOptions {
  log: Logger;
  limits?: Partial<BlobLimits>;
  now?: () => number;
}

/** Creates a blob store on a backend: adds validation, limits, expiry and checksums. Closing it closes the backend. */
export function createBlobStore(backend: BlobBackend, { log, limits: overrides = {}, now = Date.now }: BlobStoreOptions): BlobStore {
  const limits = { ...BLOB_LIMITS, ...overrides };
  const transfers = createTransferLimiter(limits);
  const deps = { backend, limits, transfers, now };
  const sweeper = startSweeper({ backend, limits, log, now });

  async function getStatus(key: BlobKey): ReturnType<Blobs['status']> {
    const ref = await backend.find(key);
    if (ref === undefined) throw unknownBlob(key.id);
    if (ref.expiresAt <= now()) throw expiredBlob(key.id);
    return ref;
  }

  return {
    for({ tenant }) {
      validateTenant(tenant);
      return {
        async write(head, options = {}) {
          validateHead(head);
          return openWriter(deps, { key: { tenant, id: head.id }, head, ...options });
        },
        async status(id) {
          validateId(id);
          return getStatus({ tenant, id });
        },
        async read(id, options = {}) {
          validateId(id);
          validateRange(options);
          return openReader(deps, { tenant, id }, options);
        },
        async remove(id) {
          validateId(id);
          await backend.remove({ tenant, id });
        },
      };
    },
    async close() {
      await transfers.close();
      await sweeper.stop();
      await backend.close();
    },
  };
}
