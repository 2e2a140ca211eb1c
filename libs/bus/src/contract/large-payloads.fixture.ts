import { ServiceError } from '@switchyard/contracts';
import type { LargePayloads } from '../payloads/large-payloads.ts';

const PIECE = 50_000;

/** A place beside the bus, in memory, which a test can look into. */
export interface Shelf extends LargePayloads {
  /** What is kept, under its tenant and id. */
  readonly kept: Map<string, Uint8Array>;
  /** How much was ever put there, in the order of it. */
  readonly sizes: number[];
  /** For how long each was to be kept. */
  readonly ttls: number[];
  /** What each of the next puts waits for. */
  before: () => Promise<void>;
}

export function createShelf(): Shelf {
  const kept = new Map<string, Uint8Array>();
  const shelf: Shelf = {
    kept,
    sizes: [],
    ttls: [],
    before: () => Promise.resolve(),
    async put(tenant, bytes, { ttlMs, signal }) {
      await shelf.before();
      if (signal.aborted) throw new ServiceError('CANCELLED', 'left');
      const id = `blob_${String(shelf.sizes.push(bytes.length)).padStart(22, '0')}`;
      shelf.ttls.push(ttlMs);
      kept.set(`${tenant}/${id}`, bytes);
      return id;
    },
    async *read(tenant, id) {
      const bytes = kept.get(`${tenant}/${id}`);
      if (bytes === undefined) throw new ServiceError('NOT_FOUND', `There is no blob ${id}.`);
      for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE);
    },
    forget: (tenant, id) => void kept.delete(`${tenant}/${id}`),
  };
  return shelf;
}
