import { ServiceError } from '@switchyard/contracts';
import type { LargePayloads } from '../payloads/large-payloads.ts';

const PIECE = 50_000;

/** A payload store in memory, for tests. */
export interface PayloadStore extends LargePayloads {
  /** Stored payloads by tenant and id. */
  readonly kept: Map<string, Uint8Array>;
  /** Sizes of all stored payloads, in order. */
  readonly sizes: number[];
  /** TTLs of all stored payloads, in order. */
  readonly ttls: number[];
  /** Awaited before each write. */
  before: () => Promise<void>;
}

export function createPayloadStore(): PayloadStore {
  const keptItems = new Map<string, Uint8Array>();
  const store: PayloadStore = {
    kept: keptItems,
    sizes: [],
    ttls: [],
    before: () => Promise.resolve(),
    async put(tenant, bytes, { ttlMs, signal }) {
      await store.before();
      if (signal.aborted) throw new ServiceError('CANCELLED', 'left');
      const id = `blob_${String(store.sizes.push(bytes.length)).padStart(22, '0')}`;
      store.ttls.push(ttlMs);
      keptItems.set(`${tenant}/${id}`, bytes);
      return id;
    },
    async *read(tenant, id) {
      const bytes = keptItems.get(`${tenant}/${id}`);
      if (bytes === undefined) throw new ServiceError('NOT_FOUND', `Blob ${id} not found.`);
      for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE);
    },
    forget: (tenant, id) => void keptItems.delete(`${tenant}/${id}`),
  };
  return store;
}
