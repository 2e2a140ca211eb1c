import { expire, newWindow, record, take, type Rate, type Window } from '@switchyard/cache';
import type { Sections } from '@switchyard/contracts';
import { LRUCache } from 'lru-cache';

/** A sliding window per key. */
export interface RateLimiter {
  /** Counts one event and returns 0, or returns the milliseconds to wait. */
  take(key: string, rate: Rate): number;
  /** Counts the calls of a batch beyond the first, which was counted already. Infinity when the batch exceeds the rate by itself. */
  takeRemaining(key: string, rate: Rate, calls: number): number;
  /** Counts events accepted by another gateway, even beyond the rate. */
  addRemote(key: string, rate: Rate, remote: { amount: number; ageMs: number }): void;
  /** The events left in the window of `key`. */
  getRemaining(key: string, rate: Rate): number;
  /** The milliseconds until the window of `key` is empty. */
  getResetMs(key: string, rate: Rate): number;
  readonly size: number;
}

/** Windows per limit; the least recently used one is evicted first. Set as `maxSize`, because lru-cache preallocates `max` entries. */
const MAX_KEYS = 50_000;

export interface RateLimiterOptions {
  now?: () => number;
  /** Called for every accepted event. */
  onTaken?: (key: string, amount: number) => void;
}

export function createRateLimiter({ now = () => performance.now(), onTaken = () => undefined }: RateLimiterOptions = {}): RateLimiter {
  const windows = new LRUCache<string, Window>({ maxSize: MAX_KEYS, sizeCalculation: () => 1 });

  function getWindow(key: string): Window {
    let window = windows.get(key);
    if (window === undefined) windows.set(key, (window = newWindow()));
    return window;
  }

  function takeLocal(key: string, rate: Rate, amount: number): number {
    const wait = take(getWindow(key), rate, now(), amount);
    if (wait === 0) onTaken(key, amount);
    return wait;
  }

  return {
    take: (key, rate) => takeLocal(key, rate, 1),
    takeRemaining: (key, rate, calls) => (calls > rate.max ? Number.POSITIVE_INFINITY : takeLocal(key, rate, calls - 1)),
    addRemote(key, rate, { amount, ageMs }) {
      if (ageMs >= rate.windowMs) return;
      const window = getWindow(key);
      expire(window, now() - rate.windowMs);
      // A window keeps its runs in order, so a late count gets at least the time of the newest run.
      record(window, rate, Math.max(now() - ageMs, window.lasts.at(-1) ?? Number.NEGATIVE_INFINITY), amount);
    },
    getRemaining(key, rate) {
      const window = windows.get(key);
      if (!window) return rate.max;
      expire(window, now() - rate.windowMs);
      return Math.max(0, rate.max - window.total);
    },
    getResetMs(key, { windowMs }) {
      const newest = windows.get(key)?.lasts.at(-1);
      return newest === undefined ? 0 : Math.max(0, newest + windowMs - now());
    },
    get size() {
      return windows.size;
    },
  };
}

/** Counts open connections per key. */
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

/** Default rate of one token for one tool over MCP. */
export const DEFAULT_TOOL_CALL_RATE: Rate = { max: 30, windowMs: 60_000 };

/** The rate limits of the gateway. Each call passes its rate, so that a changed setting applies at once. */
export interface RateLimits {
  /** HTTP requests, by client or address. */
  requests: RateLimiter;
  /** WebSocket messages, by client. All connections of a client share one window. */
  messages: RateLimiter;
  /** Failed authentications, by address. */
  authFailures: RateLimiter;
  /** Calls of one tool over MCP, by client and tool. */
  toolCalls: RateLimiter;
}

/** `onTaken` is called for every accepted event. */
export function createRateLimits(onTaken: (limit: keyof RateLimits, key: string, amount: number) => void = () => undefined): RateLimits {
  const limiter = (limit: keyof RateLimits): RateLimiter => createRateLimiter({ onTaken: (key, amount) => onTaken(limit, key, amount) });
  return {
    requests: limiter('requests'),
    messages: limiter('messages'),
    authFailures: limiter('authFailures'),
    toolCalls: limiter('toolCalls'),
  };
}

/** The configured rate of each window. */
export const rates: Record<keyof RateLimits, (gateway: Sections['gateway']) => Rate> = {
  requests: ({ rateLimit: { maxRequests: max, windowMs } }) => ({ max, windowMs }),
  messages: ({ wsMessageRateLimit: { maxMessages: max, windowMs } }) => ({ max, windowMs }),
  authFailures: ({ authFailures: { maxFailures: max, windowMs } }) => ({ max, windowMs }),
  toolCalls: () => DEFAULT_TOOL_CALL_RATE,
};
