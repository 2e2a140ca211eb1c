import { LRUCache } from 'lru-cache';
import { MAX_TTL_MS, type Rate } from '../port/cache.ts';
import { createWindow, take, type Window } from '../port/sliding-window.ts';

const MAX_WINDOWS = 50_000;
const MAX_COUNTERS = 50_000;

/** Windows and counters of this process, by entry name. */
export interface LocalCounters {
  take(name: string, rate: Rate, amount: number): number;
  add(name: string, amount: number, ttlMs: number): number;
  count(name: string): number;
}

export function createLocalCounters(): LocalCounters {
  const windows = new LRUCache<string, Window>({ max: MAX_WINDOWS, ttl: MAX_TTL_MS });
  const counters = new LRUCache<string, number>({ max: MAX_COUNTERS, ttl: MAX_TTL_MS });
  return {
    take(name, rate, amount) {
      const window = windows.get(name) ?? createWindow();
      const wait = take(window, rate, performance.now(), amount);
      if (wait === 0) windows.set(name, window, { ttl: rate.windowMs });
      return wait;
    },
    add(name, amount, ttlMs) {
      const remainingMs = counters.getRemainingTTL(name);
      const sum = clamp((counters.get(name) ?? 0) + amount);
      counters.set(name, sum, { ttl: remainingMs > 0 ? remainingMs : ttlMs });
      return sum;
    },
    count: (name) => counters.get(name) ?? 0,
  };
}

/** Limits a counter to the safe integers. */
function clamp(sum: number): number {
  return Math.min(Math.max(sum, Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
}
