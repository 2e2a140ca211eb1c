import type { AgentConfig } from '@switchyard/contracts';
import { LRUCache } from 'lru-cache';

type BreakerPolicy = AgentConfig['circuitBreaker'];

/** The message of a failed call, and the reason in its details. */
export interface FailedCall {
  message: string;
  reason?: string | undefined;
}

/** Circuit breaker per model and key. Opens after `failureThreshold` consecutive failures; after `resetTimeoutMs` one probe is let through (half-open). */
export interface CircuitBreakers {
  /** Returns the milliseconds until a call is allowed; 0 if it is allowed now. */
  getRemainingMs(name: string, policy: BreakerPolicy): number;
  /** Records the start of a call. On an open breaker this call is the probe; other calls wait for its end. */
  recordStart(name: string): void;
  recordSuccess(name: string): void;
  recordFailure(name: string, policy: BreakerPolicy, lastError: FailedCall): void;
  getLastError(name: string): FailedCall | undefined;
  /** Records a call without a conclusive outcome. */
  recordAbandoned(name: string): void;
}

interface Breaker {
  /** Consecutive failures. */
  failures: number;
  lastError: FailedCall | undefined;
  openedAt: number | undefined;
  probedAt: number | undefined;
}

/** Maximum number of tracked breakers; the least recently used is evicted first. */
const MAX_BREAKERS = 10_000;

export function createCircuitBreakers(now: () => number): CircuitBreakers {
  const breakers = new LRUCache<string, Breaker>({ max: MAX_BREAKERS });

  function getBreaker(name: string): Breaker {
    const known = breakers.get(name);
    if (known) return known;
    const created: Breaker = { failures: 0, lastError: undefined, openedAt: undefined, probedAt: undefined };
    breakers.set(name, created);
    return created;
  }

  return {
    getRemainingMs(name, { resetTimeoutMs, halfOpenTimeoutMs }) {
      const { openedAt, probedAt } = breakers.get(name) ?? {};
      if (openedAt === undefined) return 0;
      const remainingMs = openedAt + resetTimeoutMs - now();
      if (remainingMs > 0) return remainingMs;
      return probedAt === undefined ? 0 : Math.max(0, probedAt + halfOpenTimeoutMs - now());
    },
    recordStart(name) {
      const breaker = breakers.get(name);
      if (breaker?.openedAt !== undefined) breaker.probedAt = now();
    },
    recordSuccess: (name) => void breakers.delete(name),
    getLastError: (name) => breakers.get(name)?.lastError,
    recordFailure(name, { failureThreshold, resetTimeoutMs }, lastError) {
      const breaker = getBreaker(name);
      breaker.failures += 1;
      breaker.lastError = lastError;
      // Calls that started before the breaker opened do not extend it.
      const isOpen = breaker.openedAt !== undefined && now() - breaker.openedAt < resetTimeoutMs;
      if (isOpen || breaker.failures < failureThreshold) return;
      breaker.openedAt = now();
      breaker.probedAt = undefined;
    },
    recordAbandoned(name) {
      const breaker = breakers.get(name);
      if (breaker) breaker.probedAt = undefined;
    },
  };
}
