import { createSource, putBlob, readBlob, type Blobs, type BlobStore } from '@switchyard/blob';
import type { LargePayloads } from '@switchyard/bus';
import { PAYLOAD_TYPE, ServiceError } from '@switchyard/contracts';
import type { Logger } from '@switchyard/telemetry';

/** Transfers payloads above the bus limit through the blob store of the process. The store is opened on first use. */
export function largePayloads(store: () => Promise<BlobStore>, log: Logger): LargePayloads {
  const getBlobs = async (tenant: string): Promise<Blobs> => (await store().catch(throwUnavailable)).for({ tenant });
  return {
    async put(tenant, bytes, { ttlMs, signal }) {
      const putOptions = { contentType: PAYLOAD_TYPE, size: bytes.length, expiresAt: Date.now() + ttlMs, signal };
      return (await putBlob(await getBlobs(tenant), createSource(bytes), putOptions)).id;
    },
    async *read(tenant, id, signal) {
      yield* (await readBlob(await getBlobs(tenant), id, { signal })).bytes;
    },
    forget(tenant, id) {
      getBlobs(tenant)
        .then((blobs) => blobs.remove(id))
        .catch((err: unknown) => log.debug({ err, id }, 'failed to delete an unused blob; it expires by itself'));
    },
  };
}

/** Callers do not see the address of the store or the cause. */
function throwUnavailable(cause: unknown): never {
  const message = 'The store of large payloads is not available.';
  throw new ServiceError('UNAVAILABLE', message, { details: { reason: 'PAYLOAD_LOST' }, cause });
}
