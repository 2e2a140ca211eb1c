import { expire, newWindow, record, take, type Rate, type Window } from '@switchyard/cache';
import type { Sections } from '@switchyard/contracts';
import { LRUCache } from 'lru-cache';

/** A sliding window per key. */
export interface RateLimiter {
  /** As `take`, for one key. */
  take(key: string, rate: Rate): number;
  /** As `take`, for a batch of which one call was counted already. */
  takeRest(key: string, rate: Rate, calls: number): number;
  /** Counts what was let through elsewhere, also beyond the rate. */
  add(key: string, rate: Rate, elsewhere: { amount: number; ageMs: number }): void;
  /** How many events `key` may still have now. */
  left(key: string, rate: Rate): number;
  /** In how many milliseconds nothing of `key` is counted any more. */
  clearIn(key: string, rate: Rate): number;
  readonly size: number;
}

/** Windows per limit; the least recently used one is evicted first. Set as `maxSize`, because lru-cache preallocates `max` entries. */
const MAX_KEYS = 50_000;

export interface RateLimiterOptions {
  now?: () => number;
  /** Told of everything that is let through here. */
  onTaken?: (key: string, amount: number) => void;
}

export function createRateLimiter({ now = () => performance.now(), onTaken = () => undefined }: RateLimiterOptions = {}): RateLimiter {
  const windows = new LRUCache<string, Window>({ maxSize: MAX_KEYS, sizeCalculation: () => 1 });

  function windowOf(key: string): Window {
    let window = windows.get(key);
    if (window === undefined) windows.set(key, (window = newWindow()));
    return window;
  }

  function takeHere(key: string, rate: Rate, amount: number): number {
    const wait = take(windowOf(key), rate, now(), amount);
    if (wait === 0) onTaken(key, amount);
    return wait;
  }

  return {
    take: (key, rate) => takeHere(key, rate, 1),
    takeRest: (key, rate, calls) => (calls > rate.max ? Number.POSITIVE_INFINITY : takeHere(key, rate, calls - 1)),
    add(key, rate, { amount, ageMs }) {
      if (ageMs >= rate.windowMs) return;
      const window = windowOf(key);
      expire(window, now() - rate.windowMs);
      // Runs stand in their order: what is heard late counts as if it were no older than the newest of them.
      record(window, rate, Math.max(now() - ageMs, window.lasts.at(-1) ?? Number.NEGATIVE_INFINITY), amount);
    },
    left(key, rate) {
      const window = windows.get(key);
      if (!window) return rate.max;
      expire(window, now() - rate.windowMs);
      return Math.max(0, rate.max - window.total);
    },
    clearIn(key, { windowMs }) {
      const newest = windows.get(key)?.lasts.at(-1);
      return newest === undefined ? 0 : Math.max(0, newest + windowMs - now());
    },
    get size() {
      return windows.size;
    },
  };
}

/** Counters of open things, for caps on connections. */
export interface Gauge {
  count(key: string): number;
  add(key: string): void;
  remove(key: string): void;
}

export function createGauge(): Gauge {
  const counts = new Map<string, number>();
  const count = (key: string): number => counts.get(key) ?? 0;
  return {
    count,
    add: (key) => void counts.set(key, count(key) + 1),
    remove(key) {
      if (count(key) <= 1) counts.delete(key);
      else counts.set(key, count(key) - 1);
    },
  };
}

/** How often a token may call one tool over MCP, unless it says otherwise of itself. */
export const TOOL_CALLS: Rate = { max: 30, windowMs: 60_000 };

/** What the edge counts. The rates come with each call, so that a changed setting is in force at once. */
export interface Limits {
  /** HTTP requests, by client or address. */
  requests: RateLimiter;
  /** Messages over WebSockets, by client: a client has one window, however many connections. */
  messages: RateLimiter;
  /** Failed authentications, by address. */
  authFailures: RateLimiter;
  /** Calls of one tool over MCP, by client and tool. */
  toolCalls: RateLimiter;
}

/** `onTaken` is told of everything that is let through here. */
export function createLimits(onTaken: (limit: keyof Limits, key: string, amount: number) => void = () => undefined): Limits {
  const limiter = (limit: keyof Limits): RateLimiter => createRateLimiter({ onTaken: (key, amount) => onTaken(limit, key, amount) });
  return {
    requests: limiter('requests'),
    messages: limiter('messages'),
    authFailures: limiter('authFailures'),
    toolCalls: limiter('toolCalls'),
  };
}

/** The rate of each window, as it is set now. */
export const rates: Record<keyof Limits, (gateway: Sections['gateway']) => Rate> = {
  requests: ({ rateLimit: { maxRequests: max, windowMs } }) => ({ max, windowMs }),
  messages: ({ wsMessageRateLimit: { maxMessages: max, windowMs } }) => ({ max, windowMs }),
  authFailures: ({ authFailures: { maxFailures: max, windowMs } }) => ({ max, windowMs }),
  toolCalls: () => TOOL_CALLS,
};
