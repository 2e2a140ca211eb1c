import { LRUCache } from 'lru-cache';

/** The number of flags and the threshold that was reached. */
export interface Passed {
  count: number;
  threshold: number;
  action: 'warn' | 'reinforce';
}

/** Counts the flagged messages of each speaker on this replica. */
export interface Rates {
  /** Counts one flagged message. Returns a value only when the count within the window reaches a threshold. */
  note: (speaker: string) => Passed | undefined;
}

const WINDOW_MS = 300_000;
const MAX_SPEAKERS = 10_000;
const THRESHOLDS: Readonly<Record<number, Passed['action']>> = { 3: 'warn', 5: 'reinforce' };
/** Maximum number of timestamps per speaker. It is above the highest threshold. */
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
