import type { Rate } from './cache.ts';

/** What happened lately, as runs of events close together, so that a window stays small however high its rate. */
export interface Window {
  firsts: number[];
  lasts: number[];
  counts: number[];
  total: number;
}

/** Events this close together, as a share of the window, expire together. */
const RUNS_PER_WINDOW = 64;

export function createWindow(): Window {
  return { firsts: [], lasts: [], counts: [], total: 0 };
}

/**
 * Counts `amount` events and returns 0, or counts nothing and returns how many milliseconds to wait; Infinity for more at once than
 * the rate ever allows.
 */
export function take(window: Window, rate: Rate, now: number, amount = 1): number {
  expire(window, now - rate.windowMs);
  if (window.total + amount > rate.max) return computeWaitMs(window, rate, now, amount);
  record(window, rate, now, amount);
  return 0;
}

/** Counts what happened already, also beyond the rate. */
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

/** Until enough of the runs have expired. */
function computeWaitMs({ lasts, counts, total }: Window, { max, windowMs }: Rate, now: number, amount: number): number {
  let left = total;
  for (let run = 0; run < counts.length; run++) {
    left -= counts[run] ?? 0;
    if (left + amount <= max) return Math.max(1, Math.ceil((lasts[run] ?? now) + windowMs - now));
  }
  return Number.POSITIVE_INFINITY;
}

/** Forgets what happened up to then. */
export function expire(window: Window, before: number): void {
  while (window.lasts.length > 0 && (window.lasts[0] ?? 0) <= before) {
    window.firsts.shift();
    window.lasts.shift();
    window.total -= window.counts.shift() ?? 0;
  }
}
