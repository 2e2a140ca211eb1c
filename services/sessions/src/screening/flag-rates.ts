import { LRUCache } from 'lru-cache';

/** How many, and what they passed. */
export interface Passed {
  count: number;
  threshold: number;
  action: 'warn' | 'reinforce';
}

/** Counts what was flagged of each speaker, on this replica. */
export interface Rates {
  /** One more. Said once as each threshold is reached within the window. */
  note: (speaker: string) => Passed | undefined;
}

const WINDOW_MS = 300_000;
const MAX_SPEAKERS = 10_000;
const THRESHOLDS: Readonly<Record<number, Passed['action']>> = { 3: 'warn', 5: 'reinforce' };
/** Flags kept of one speaker; the last threshold is below it. */
const MAX_FLAGS = 6;

export function createRates(now: () => number): Rates {
  const times = new LRUCache<string, number[]>({ max: MAX_SPEAKERS });
  return {
    note(speaker) {
      const since = now() - WINDOW_MS;
      const recent = [...(times.get(speaker) ?? []).filter((at) => at > since), now()].slice(-MAX_FLAGS);
      times.set(speaker, recent);
      const action = THRESHOLDS[recent.length];
      return action && { count: recent.length, threshold: recent.length, action };
    },
  };
}
