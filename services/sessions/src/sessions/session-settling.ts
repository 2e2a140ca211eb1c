import { pause, type Clock } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { SessionDocument } from '../model/session-document.ts';
import { type TurnDocument, hasEnded } from '../model/turn-document.ts';
import { readEntry } from '../model/queue-entry.ts';

/** Milliseconds, unless who ran the turn died just then; whoever takes over does it within ten seconds. */
const PATIENCE_MS = 2_000;
/** Nobody is told when a session has counted a turn: that would be a message for each, and hardly anybody waits for it. */
const LOOK_MS = 10;

export interface Settling {
  sessions: Collection<SessionDocument>;
  turns: Collection<TurnDocument>;
  clock: Clock;
}

/**
 * The session once it has counted those of its turns that have ended, so that who was told the end of a turn finds it in the history,
 * and the session free. A turn ends with one write and is counted with another. Where the second does not come within two seconds,
 * the session is given as it is. Null where it is gone meanwhile.
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
 * What a query gives once none of the sessions in it has a turn that has ended and is not counted; after two seconds as it is. All of
 * them are looked at together, and nothing is read for those where nothing waits.
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
