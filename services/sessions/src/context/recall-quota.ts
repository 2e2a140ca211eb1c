import type { Documents } from '@switchyard/store';
import type { SessionDocument } from '../model/session-document.ts';
import { DAY_MS } from '../model/retention.ts';
import type { Cost } from './compaction/compaction-store.ts';

/*
 * The writes to a session's document by whoever reads in what was said there earlier. They are beside those of its mailbox.
 */

/** Days since 1970. */
export function dayOf(now: number): number {
  return Math.floor(now / DAY_MS);
}

/** Counts one more for today. Without it a model could read all day. Null when there were as many as there may be. */
export async function countRecall(
  sessions: Documents<SessionDocument>,
  { key }: Pick<SessionDocument, 'key'>,
  { now, most }: { now: number; most: number },
): Promise<SessionDocument | null> {
  const recallDay = dayOf(now);
  const again = (): Promise<SessionDocument | null> => sessions.update({ key, recallDay, recalls: { lt: most } }, { inc: { recalls: 1 } });
  const counted = await again();
  if (counted) return counted;
  for (const before of [{ lt: recallDay }, null]) {
    const first = await sessions.update({ key, recallDay: before }, { set: { recallDay, recalls: 1 } });
    if (first) return first;
  }
  // Somebody else was the first of the day meanwhile.
  return again();
}

/** What reading cost is the conversation's. */
export async function addCost(
  sessions: Documents<SessionDocument>,
  { key, epoch }: SessionDocument,
  { input, output, costUsd }: Cost,
): Promise<void> {
  await sessions.update({ key, epoch }, { inc: { inputTokens: input, outputTokens: output, costUsd } });
}
