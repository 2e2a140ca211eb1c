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
const MOST_SPEAKERS = 10_000;
const THRESHOLDS: Readonly<Record<number, Passed['action']>> = { 3: 'warn', 5: 'reinforce' };
/** More of one are not remembered: beyond the last threshold nothing new is said. */
const MOST_TIMES = 6;

export function createRates(now: () => number): Rates {
  const times = new Map<string, number[]>();
  return {
    note(speaker) {
      const since = now() - WINDOW_MS;
      const recent = [...(times.get(speaker) ?? []).filter((at) => at > since), now()].slice(-MOST_TIMES);
      // The one who was heard of longest ago is forgotten first.
      times.delete(speaker);
      times.set(speaker, recent);
      const [oldest] = times.keys();
      if (times.size > MOST_SPEAKERS && oldest !== undefined) times.delete(oldest);
      const action = THRESHOLDS[recent.length];
      return action && { count: recent.length, threshold: recent.length, action };
    },
  };
}
