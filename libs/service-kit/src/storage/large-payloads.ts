import { bytesOf, putBlob, readBlob, type Blobs, type BlobStore } from '@switchyard/blob';
import type { LargePayloads } from '@switchyard/bus';
import { PAYLOAD_TYPE, ServiceError } from '@switchyard/contracts';
import type { Logger } from '@switchyard/telemetry';

/** Transfers payloads above the bus limit through the blob store of the process. The store is opened on first use. */
export function largePayloads(store: () => Promise<BlobStore>, log: Logger): LargePayloads {
  const blobsOf = async (tenant: string): Promise<Blobs> => (await store().catch(away)).for({ tenant });
  return {
    async put(tenant, bytes, { ttlMs, signal }) {
      const said = { contentType: PAYLOAD_TYPE, size: bytes.length, expiresAt: Date.now() + ttlMs, signal };
      return (await putBlob(await blobsOf(tenant), bytesOf(bytes), said)).id;
    },
    async *read(tenant, id, signal) {
      yield* (await readBlob(await blobsOf(tenant), id, { signal })).bytes;
    },
    forget(tenant, id) {
      blobsOf(tenant)
        .then((blobs) => blobs.remove(id))
        .catch((err: unknown) => log.debug({ err, id }, 'a blob that nobody needs stays until it expires'));
    },
  };
}

/** Callers do not see the address of the store or the cause. */
function away(cause: unknown): never {
  const message = 'The store of large payloads cannot be reached.';
  throw new ServiceError('UNAVAILABLE', message, { details: { reason: 'PAYLOAD_LOST' }, cause });
}
