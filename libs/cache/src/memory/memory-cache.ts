import { LRUCache } from 'lru-cache';
import { MAX_TTL_MS, type Cache } from '../port/cache.ts';
import { checkAdd, checkBoard, checkSet, checkTake } from '../port/validation.ts';
import { entryName } from '../port/entry-name.ts';
import { createBoards } from './memory-boards.ts';
import { createLocal } from './local-counters.ts';

export const MAX_VALUES = 10_000;
export const MAX_BYTES = 64 * 1024 * 1024;

/** Everything in this process, and gone with it. */
export function createMemoryCache(): Cache {
  const local = createLocal();
  const boards = createBoards();
  const values = new LRUCache<string, string>({
    max: MAX_VALUES,
    maxSize: MAX_BYTES,
    sizeCalculation: (value) => Math.max(1, Buffer.byteLength(value)),
    ttl: MAX_TTL_MS,
  });
  return {
    shared: false,
    async take(key, rate, amount = 1) {
      checkTake(rate, amount);
      return local.take(entryName(key), rate, amount);
    },
    async add(key, amount, ttlMs) {
      checkAdd(amount, ttlMs);
      return local.add(entryName(key), amount, ttlMs);
    },
    count: async (key) => local.count(entryName(key)),
    get: async (key) => values.get(entryName(key)),
    async set(key, value, ttlMs) {
      checkSet(value, ttlMs);
      values.set(entryName(key), value, { ttl: ttlMs });
    },
    delete: async (key) => void values.delete(entryName(key)),
    board(key, keepMs) {
      checkBoard(keepMs);
      return boards.open(entryName(key), keepMs);
    },
    close: async () => undefined,
  };
}
