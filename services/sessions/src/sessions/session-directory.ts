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

/** The session of a key; NOT_FOUND when it is not there, or not for this principal. */
export async function requireSession(sessions: Collection<SessionDocument>, principal: Principal, key: string): Promise<SessionDocument> {
  const session = await sessions.for(principal).get(meantKey(key, principal));
  if (!session || !sees(principal, session)) throw noSuchSession();
  return session;
}

/** The newest session that the client itself made, in one channel or in any. Nobody else's will do, whatever the client may read by key. */
export async function newestOwnSession(
  sessions: Collection<SessionDocument>,
  principal: Principal,
  channelId?: string,
): Promise<SessionDocument | undefined> {
  const filter = { ...seenBy(principal), createdBy: principal.client, ...(channelId === undefined ? {} : { channelId }) };
  return (await sessions.for(principal).find(filter, { sort: [['updatedAt', 'desc']], limit: 1 })).items[0];
}

/** What a caller means who names no session: in a turn the session of that turn, else the newest that the caller made. */
export async function callersSession(sessions: Collection<SessionDocument>, principal: Principal): Promise<SessionDocument | undefined> {
  if (principal.session === undefined) return newestOwnSession(sessions, principal);
  const session = await sessions.for(principal).get(principal.session);
  return session && sees(principal, session) ? session : undefined;
}

export interface HistoryEntry {
  role: string;
  content: string;
  timestamp: number;
  /** Nobody said it: the conversation went on by itself after this turn. */
  follows?: string;
}

export interface Reading extends Settling {
  bodies: Collection<BodyDocument>;
}

/** What was said, oldest first: the turns that are done, as far as the session has counted them. */
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

/** When each thing was said in a turn. */
export function timesOf({ createdAt, joined = [], finishedAt = createdAt }: TurnDocument): number[] {
  return [createdAt, ...joined.map(({ at }) => at), finishedAt];
}

/** The last turns of a session that are done, newest first. */
export async function lastTurns(turns: Documents<TurnDocument>, session: SessionDocument, limit: number): Promise<TurnDocument[]> {
  const { key, epoch, lastSeq, messageCount } = session;
  if (messageCount === 0 || limit === 0) return [];
  return (await turns.find({ sessionKey: key, epoch, seq: { lte: lastSeq } }, { sort: [['seq', 'desc']], limit })).items;
}

/**
 * What was said in a session the principal may know of, with every turn whose end was told. Held to its own, it gets nothing of one
 * that somebody else made again meanwhile.
 */
export async function read(reading: Reading, principal: Principal, seen: SessionDocument): Promise<HistoryEntry[]> {
  const session = await settled(reading, principal.tenant, seen);
  if (!session) throw noSuchSession();
  const said = await history(reading, principal, session);
  if (principal.sessions === 'own') await requireSession(reading.sessions, principal, session.key);
  return said;
}
