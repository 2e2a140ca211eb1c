import { pause, type Clock } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { SessionDocument } from '../model/session-document.ts';
import { type TurnDocument, hasEnded } from '../model/turn-document.ts';
import { parseEntry } from '../model/queue-entry.ts';

/** Counting takes milliseconds, unless the runner died; another replica then does it within ten seconds. */
const SETTLE_TIMEOUT_MS = 2_000;
/** Polled, because a message per counted turn would cost more than the few callers that wait. */
const POLL_INTERVAL_MS = 10;

export interface SettlingDeps {
  sessions: Collection<SessionDocument>;
  turns: Collection<TurnDocument>;
  clock: Clock;
}

/**
 * Waits until a session has counted its finished turns. A caller that has received the end of a turn then finds the turn in the history
 * and the session free. One write ends a turn and another counts it. Returns the session unchanged after two seconds, and null if it
 * was removed.
 */
export async function waitUntilSettled(
  { sessions, turns, clock }: SettlingDeps,
  tenant: string,
  seen: SessionDocument,
): Promise<SessionDocument | null> {
  const deadline = clock.now() + SETTLE_TIMEOUT_MS;
  let session: SessionDocument | null = seen;
  while (session !== null && (await isUnsettled(turns, tenant, [session])) && clock.now() < deadline) {
    await pause(clock, POLL_INTERVAL_MS);
    session = await sessions.for({ tenant }).get(seen.key);
  }
  return session;
}

/**
 * Repeats a query until no returned session has an uncounted finished turn, for at most two seconds. Checks all sessions together, and
 * reads nothing for sessions without waiting turns.
 */
export async function waitUntilAllSettled<T extends { items: readonly SessionDocument[] }>(
  { turns, clock }: Omit<SettlingDeps, 'sessions'>,
  tenant: string,
  query: () => Promise<T>,
): Promise<T> {
  const until = clock.now() + SETTLE_TIMEOUT_MS;
  let found = await query();
  while ((await isUnsettled(turns, tenant, found.items)) && clock.now() < until) {
    await pause(clock, POLL_INTERVAL_MS);
    found = await query();
  }
  return found;
}

async function isUnsettled(turns: Collection<TurnDocument>, tenant: string, sessions: readonly SessionDocument[]): Promise<boolean> {
  const firsts = sessions.flatMap(({ queue: [first] }) => (first === undefined ? [] : parseEntry(first).turnId));
  if (firsts.length === 0) return false;
  const { items } = await turns.for({ tenant }).find({ turnId: { in: firsts } }, { limit: firsts.length });
  return items.some(hasEnded);
}
