import type { BeatDocument, WakeReason } from './beat-document.ts';

/** Wakes within this time share one beat. */
const COALESCE_MS = 250;
/** A beat without a next one waits until it is woken. */
export const NEVER = Number.MAX_SAFE_INTEGER;

/** If a beat has several reasons, the one with the highest priority is kept. */
export const WAKE_PRIORITY: Readonly<Record<WakeReason, number>> = { interval: 1, manual: 2, hook: 2, wake: 2 };

type Plan = { kind: 'wait'; until: number } | { kind: 'beat'; reason: WakeReason; instant: number };
type Schedule = Pick<BeatDocument, 'createdAt' | 'beatUntil' | 'backoffUntil'>;

/** Returns the first beat after all earlier ones, and after the back-off; null without an interval. */
export function getNextBeat({ createdAt, beatUntil, backoffUntil = 0 }: Schedule, intervalMs: number): number | null {
  if (intervalMs === 0) return null;
  const after = Math.max(beatUntil, backoffUntil - 1, createdAt);
  return createdAt + (Math.floor((after - createdAt) / intervalMs) + 1) * intervalMs;
}

/** Decides what a beat document that is due does. Beats that passed unnoticed become one beat, that of the last one. */
export function planBeat(beat: BeatDocument, intervalMs: number, now: number): Plan {
  const { createdAt, wakeAt = 0, wakeCount, wakesServed, wakeReason = 'wake' } = beat;
  if (wakeCount > wakesServed) {
    const until = wakeAt + COALESCE_MS;
    return now < until && wakeAt <= now ? { kind: 'wait', until } : { kind: 'beat', reason: wakeReason, instant: now };
  }
  const next = getNextBeat(beat, intervalMs);
  if (next === null) return { kind: 'wait', until: NEVER };
  if (now < next) return { kind: 'wait', until: next };
  return { kind: 'beat', reason: 'interval', instant: now - ((now - createdAt) % intervalMs) };
}
