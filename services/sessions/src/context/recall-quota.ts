import type { Documents } from '@switchyard/store';
import type { SessionDocument } from '../model/session-document.ts';
import { DAY_MS } from '../model/retention.ts';
import type { Cost } from './compaction/compaction-store.ts';

/* Writes of history lookups to the session document. They are independent of the session queue. */

/** Returns the number of days since 1970. */
export function getDay(now: number): number {
  return Math.floor(now / DAY_MS);
}

/** Counts one lookup for today, which limits the lookups of a model. Returns null when the daily limit is reached. */
export async function countRecall(
  sessions: Documents<SessionDocument>,
  { key }: Pick<SessionDocument, 'key'>,
  { now, most }: { now: number; most: number },
): Promise<SessionDocument | null> {
  const recallDay = getDay(now);
  const repeat = (): Promise<SessionDocument | null> => sessions.update({ key, recallDay, recalls: { lt: most } }, { inc: { recalls: 1 } });
  const counted = await repeat();
  if (counted) return counted;
  for (const before of [{ lt: recallDay }, null]) {
    const first = await sessions.update({ key, recallDay: before }, { set: { recallDay, recalls: 1 } });
    if (first) return first;
  }
  // Another call counted the first lookup of the day meanwhile.
  return repeat();
}

/** Adds the cost of a lookup to the conversation. */
export async function addCost(
  sessions: Documents<SessionDocument>,
  { key, epoch }: SessionDocument,
  { input, output, costUsd }: Cost,
): Promise<void> {
  await sessions.update({ key, epoch }, { inc: { inputTokens: input, outputTokens: output, costUsd } });
}
