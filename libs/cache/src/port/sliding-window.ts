import type { Rate } from './cache.ts';

/** Events of a sliding window, grouped into runs, so that its size does not depend on the rate. */
export interface Window {
  firsts: number[];
  lasts: number[];
  counts: number[];
  total: number;
}

/** A run covers this fraction of the window, and its events expire together. */
const RUNS_PER_WINDOW = 64;

export function createWindow(): Window {
  return { firsts: [], lasts: [], counts: [], total: 0 };
}

/**
 * Counts `amount` events and returns 0. If the rate is exceeded, it counts nothing and returns the time to wait in milliseconds, or
 * Infinity if `amount` exceeds the rate's maximum.
 */
export function take(window: Window, rate: Rate, now: number, amount = 1): number {
  expire(window, now - rate.windowMs);
  if (window.total + amount > rate.max) return computeWaitMs(window, rate, now, amount);
  record(window, rate, now, amount);
  return 0;
}

/** Counts past events, even above the rate. */
export function record(window: Window, rate: Rate, now: number, amount: number): void {
  const newest = window.counts.length - 1;
  if (newest >= 0 && now - (window.firsts[newest] ?? 0) < rate.windowMs / RUNS_PER_WINDOW) {
    window.lasts[newest] = now;
    window.counts[newest] = (window.counts[newest] ?? 0) + amount;
  } else {
    window.firsts.push(now);
    window.lasts.push(now);
    window.counts.push(amount);
  }
  window.total += amount;
}

/** Computes the time until enough runs have expired. */
function computeWaitMs({ lasts, counts, total }: Window, { max, windowMs }: Rate, now: number, amount: number): number {
  let remaining = total;
  for (let run = 0; run < counts.length; run++) {
    remaining -= counts[run] ?? 0;
    if (remaining + amount <= max) return Math.max(1, Math.ceil((lasts[run] ?? now) + windowMs - now));
  }
  return Number.POSITIVE_INFINITY;
}

/** Removes the events before a time. */
export function expire(window: Window, before: number): void {
  while (window.lasts.length > 0 && (window.lasts[0] ?? 0) <= before) {
    window.firsts.shift();
    window.lasts.shift();
    window.total -= window.counts.shift() ?? 0;
  }
}
