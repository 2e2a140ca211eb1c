import type { Principal } from '@switchyard/contracts';
import type { Collection, Documents } from '@switchyard/store';
import type { SessionDocument } from '../model/session-document.ts';
import type { TurnDocument } from '../model/turn-document.ts';
import { texts } from '../model/stored-text.ts';
import type { BodyDocument } from '../model/text-document.ts';
import { spoken } from '../model/turn-messages.ts';
import { noSuchSession, seenBy, sees } from '../model/session-ownership.ts';
import { settled, type Settling } from './session-settling.ts';
import { meantKey } from '../model/session-key.ts';

const PAGE = 500;

/** Returns the session of a key. Throws NOT_FOUND if it is missing or not visible to the principal. */
export async function requireSession(sessions: Collection<SessionDocument>, principal: Principal, key: string): Promise<SessionDocument> {
  const session = await sessions.for(principal).get(meantKey(key, principal));
  if (!session || !sees(principal, session)) throw noSuchSession();
  return session;
}

/** Returns the newest session that the client created, in one channel or in any. Sessions of other clients are never returned. */
export async function newestOwnSession(
  sessions: Collection<SessionDocument>,
  principal: Principal,
  channelId?: string,
): Promise<SessionDocument | undefined> {
  const filter = { ...seenBy(principal), createdBy: principal.client, ...(channelId === undefined ? {} : { channelId }) };
  return (await sessions.for(principal).find(filter, { sort: [['updatedAt', 'desc']], limit: 1 })).items[0];
}

/** Returns the default session of a caller: the session of its turn, otherwise the newest that it created. */
export async function callersSession(sessions: Collection<SessionDocument>, principal: Principal): Promise<SessionDocument | undefined> {
  if (principal.session === undefined) return newestOwnSession(sessions, principal);
  const session = await sessions.for(principal).get(principal.session);
  return session && sees(principal, session) ? session : undefined;
}

export interface HistoryEntry {
  role: string;
  content: string;
  timestamp: number;
  /** Set on auto-continued turns: the turn being continued. */
  follows?: string;
}

export interface Reading extends Settling {
  bodies: Collection<BodyDocument>;
}

/** Loads the messages of all counted turns, oldest first. */
export async function history(
  { turns, bodies }: Pick<Reading, 'turns' | 'bodies'>,
  principal: Pick<Principal, 'tenant'>,
  { key, epoch, lastSeq }: SessionDocument,
): Promise<HistoryEntry[]> {
  const entries: HistoryEntry[] = [];
  let cursor: string | undefined;
  do {
    const page = await turns
      .for(principal)
      .find(
        { sessionKey: key, epoch, seq: { lte: lastSeq } },
        { sort: [['seq', 'asc']], limit: PAGE, ...(cursor === undefined ? {} : { cursor }) },
      );
    const all = page.items.flatMap((turn) =>
      spoken(turn).map((one, at) => ({ ...one, timestamp: timesOf(turn)[at] ?? turn.createdAt, ...(at === 0 ? goesOnFrom(turn) : {}) })),
    );
    const said = await texts(bodies.for(principal), all);
    for (const [at, { role, timestamp, follows }] of all.entries())
      entries.push({ role, content: said[at] ?? '', timestamp, ...(follows === undefined ? {} : { follows }) });
    cursor = page.cursor;
  } while (cursor !== undefined);
  return entries;
}

function goesOnFrom({ follows }: TurnDocument): Pick<HistoryEntry, 'follows'> {
  return follows ? { follows: follows.turnId } : {};
}

/** Returns the time of each message of a turn. */
export function timesOf({ createdAt, joined = [], finishedAt = createdAt }: TurnDocument): number[] {
  return [createdAt, ...joined.map(({ at }) => at), finishedAt];
}

/** Returns the last finished turns of a session, newest first. */
export async function lastTurns(turns: Documents<TurnDocument>, session: SessionDocument, limit: number): Promise<TurnDocument[]> {
  const { key, epoch, lastSeq, messageCount } = session;
  if (messageCount === 0 || limit === 0) return [];
  return (await turns.find({ sessionKey: key, epoch, seq: { lte: lastSeq } }, { sort: [['seq', 'desc']], limit })).items;
}

/**
 * Loads the history after waiting for finished turns to be counted. A client restricted to its own sessions gets nothing of a session that
 * another client recreated meanwhile.
 */
export async function read(reading: Reading, principal: Principal, seen: SessionDocument): Promise<HistoryEntry[]> {
  const session = await settled(reading, principal.tenant, seen);
  if (!session) throw noSuchSession();
  const said = await history(reading, principal, session);
  if (principal.sessions === 'own') await requireSession(reading.sessions, principal, session.key);
  return said;
}
