import { pause, type Clock } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { SessionDocument } from '../model/session-document.ts';
import { type TurnDocument, hasEnded } from '../model/turn-document.ts';
import { readEntry } from '../model/queue-entry.ts';

/** Counting takes milliseconds, unless the runner died; another replica then does it within ten seconds. */
const PATIENCE_MS = 2_000;
/** Polled, because a message per counted turn would cost more than the few callers that wait. */
const LOOK_MS = 10;

export interface Settling {
  sessions: Collection<SessionDocument>;
  turns: Collection<TurnDocument>;
  clock: Clock;
}

/**
 * Waits until a session has counted its finished turns, so that a caller who was told the end of a turn finds it in the history and the
 * session free. A turn ends with one write and is counted with another. Returns the session as it is after two seconds, and null if it was
 * removed.
 */
export async function settled(
  { sessions, turns, clock }: Settling,
  tenant: string,
  seen: SessionDocument,
): Promise<SessionDocument | null> {
  const until = clock.now() + PATIENCE_MS;
  let session: SessionDocument | null = seen;
  while (session !== null && (await isUnsettled(turns, tenant, [session])) && clock.now() < until) {
    await pause(clock, LOOK_MS);
    session = await sessions.for({ tenant }).get(seen.key);
  }
  return session;
}

/**
 * Repeats a query until no returned session has an uncounted finished turn, for at most two seconds. Checks all sessions together, and
 * reads nothing for sessions without waiting turns.
 */
export async function allSettled<T extends { items: readonly SessionDocument[] }>(
  { turns, clock }: Omit<Settling, 'sessions'>,
  tenant: string,
  query: () => Promise<T>,
): Promise<T> {
  const until = clock.now() + PATIENCE_MS;
  let found = await query();
  while ((await isUnsettled(turns, tenant, found.items)) && clock.now() < until) {
    await pause(clock, LOOK_MS);
    found = await query();
  }
  return found;
}

async function isUnsettled(turns: Collection<TurnDocument>, tenant: string, sessions: readonly SessionDocument[]): Promise<boolean> {
  const firsts = sessions.flatMap(({ queue: [first] }) => (first === undefined ? [] : readEntry(first).turnId));
  if (firsts.length === 0) return false;
  const { items } = await turns.for({ tenant }).find({ turnId: { in: firsts } }, { limit: firsts.length });
  return items.some(hasEnded);
}
