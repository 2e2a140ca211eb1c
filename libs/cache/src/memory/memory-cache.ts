import { LRUCache } from 'lru-cache';
import { MAX_TTL_MS, type Cache } from '../port/cache.ts';
import { checkAdd, checkBoard, checkSet, checkTake } from '../port/validation.ts';
import { hashKey } from '../port/entry-name.ts';
import { createBoards } from './memory-boards.ts';
import { createLocalCounters } from './local-counters.ts';

export const MAX_VALUES = 10_000;
export const MAX_BYTES = 64 * 1024 * 1024;

/** A cache in this process. */
export function createMemoryCache(): Cache {
  const local = createLocalCounters();
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
      return local.take(hashKey(key), rate, amount);
    },
    async add(key, amount, ttlMs) {
      checkAdd(amount, ttlMs);
      return local.add(hashKey(key), amount, ttlMs);
    },
    count: async (key) => local.count(hashKey(key)),
    get: async (key) => values.get(hashKey(key)),
    async set(key, value, ttlMs) {
      checkSet(value, ttlMs);
      values.set(hashKey(key), value, { ttl: ttlMs });
    },
    delete: async (key) => void values.delete(hashKey(key)),
    board(key, keepMs) {
      checkBoard(keepMs);
      return boards.open(hashKey(key), keepMs);
    },
    close: async () => undefined,
  };
}
