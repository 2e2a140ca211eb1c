import type { Logger } from '@switchyard/telemetry';
import type { BlobBackend, BlobKey, StoredBlob } from './blob-backend.ts';
import { expiredBlob, unknownBlob } from './blob-errors.ts';
import { BLOB_LIMITS, type BlobLimits } from './blob-limits.ts';
import { openReader } from './blob-reader.ts';
import { LIST_PAGE_SIZE, type BlobStore } from './blob-store.ts';
import { openWriter } from './blob-writer.ts';
import { createKeeper } from './keeper.ts';
import { startSweeper } from './sweeper.ts';
import { createTransferLimiter } from './transfer-limiter.ts';
import { validateHead, validateId, validateKeep, validateList, validateOwner, validateRange, validateTenant } from './validate-blob.ts';

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

  const keeper = createKeeper({ backend, limits, now, find });

  async function find(key: BlobKey): Promise<StoredBlob> {
    const blob = await backend.find(key);
    if (blob === undefined) throw unknownBlob(key.id);
    if (blob.ref.expiresAt <= now()) throw expiredBlob(key.id);
    return blob;
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
          return (await find({ tenant, id })).ref;
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
        async keep(id, options) {
          validateKeep(id, options);
          return keeper.keep({ tenant, id }, options);
        },
        async release(id, owner) {
          validateId(id);
          validateOwner(owner);
          await keeper.release({ tenant, id }, owner);
        },
        async listKept({ owner, after = '', limit = LIST_PAGE_SIZE }) {
          validateList({ owner, after, limit });
          return backend.listKept(tenant, { owner, after, limit });
        },
        usage: () => keeper.usage(tenant),
      };
    },
    async close() {
      await transfers.close();
      await sweeper.stop();
      await backend.close();
    },
  };
}
