import { LRUCache } from 'lru-cache';

const REPEAT_INTERVAL_MS = 60_000;
/** A few dozen keys are in use. */
const MAX_KEYS = 1_000;

/** Limits log lines of operations that are retried several times a second: one line for each key and minute. */
export interface LogThrottle {
  log(key: string, write: () => void): void;
  /** Forgets all keys, so that the next line of each is written. */
  reset(): void;
}

export function createLogThrottle(now: () => number = () => performance.now()): LogThrottle {
  const logged = new LRUCache<string, true>({ max: MAX_KEYS, ttl: REPEAT_INTERVAL_MS, ttlResolution: 0, perf: { now } });
  return {
    log(key, write) {
      if (logged.has(key)) return;
      logged.set(key, true);
      write();
    },
    reset: () => logged.clear(),
  };
}
