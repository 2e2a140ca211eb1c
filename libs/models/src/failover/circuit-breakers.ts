import type { AgentConfig } from '@switchyard/contracts';
import { LRUCache } from 'lru-cache';

type BreakerPolicy = AgentConfig['circuitBreaker'];

/** What keeps failing is left alone for a while, and then asked once before it is asked by everybody again. */
export interface Breakers {
  /** How long it is left alone yet; 0 where it may be asked. */
  waitMs(name: string, policy: BreakerPolicy): number;
  /** It is asked. Of one that was left alone this is the probe, and everybody else waits for its end. */
  begin(name: string): void;
  succeeded(name: string): void;
  failed(name: string, policy: BreakerPolicy, why: string): void;
  /** What it failed with last. */
  why(name: string): string;
  /** The call had no end that says anything. */
  left(name: string): void;
}

interface Breaker {
  /** In a row. */
  failures: number;
  why: string;
  openedAt: number | undefined;
  probedAt: number | undefined;
}

/** Maximum number of tracked breakers; the least recently used is evicted first. */
const MAX_BREAKERS = 10_000;

export function createBreakers(now: () => number): Breakers {
  const failing = new LRUCache<string, Breaker>({ max: MAX_BREAKERS });

  function breakerOf(name: string): Breaker {
    const known = failing.get(name);
    if (known) return known;
    const made: Breaker = { failures: 0, why: '', openedAt: undefined, probedAt: undefined };
    failing.set(name, made);
    return made;
  }

  return {
    waitMs(name, { resetTimeoutMs, halfOpenTimeoutMs }) {
      const { openedAt, probedAt } = failing.get(name) ?? {};
      if (openedAt === undefined) return 0;
      const closed = openedAt + resetTimeoutMs - now();
      if (closed > 0) return closed;
      return probedAt === undefined ? 0 : Math.max(0, probedAt + halfOpenTimeoutMs - now());
    },
    begin(name) {
      const breaker = failing.get(name);
      if (breaker?.openedAt !== undefined) breaker.probedAt = now();
    },
    succeeded: (name) => void failing.delete(name),
    why: (name) => failing.get(name)?.why ?? '',
    failed(name, { failureThreshold, resetTimeoutMs }, why) {
      const breaker = breakerOf(name);
      breaker.failures += 1;
      breaker.why = why;
      // Calls that began before it was opened say nothing new.
      const isOpen = breaker.openedAt !== undefined && now() - breaker.openedAt < resetTimeoutMs;
      if (isOpen || breaker.failures < failureThreshold) return;
      breaker.openedAt = now();
      breaker.probedAt = undefined;
    },
    left(name) {
      const breaker = failing.get(name);
      if (breaker) breaker.probedAt = undefined;
    },
  };
}
