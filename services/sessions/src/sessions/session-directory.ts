import type { Principal } from '@switchyard/contracts';
import type { Collection, Documents } from '@switchyard/store';
import type { SessionDocument } from '../model/session-document.ts';
import type { TurnDocument } from '../model/turn-document.ts';
import { loadTexts } from '../model/stored-text.ts';
import type { BodyDocument } from '../model/text-document.ts';
import { listMessages } from '../model/turn-messages.ts';
import { sessionNotFound, visibilityFilter, canSee } from '../model/session-ownership.ts';
import { isOutside, isUntrusted } from '../screening/untrusted-message.ts';
import { waitUntilSettled, type SettlingDeps } from './session-settling.ts';
import { resolveSessionKey } from '../model/session-key.ts';

const PAGE = 500;

/** Returns the session of a key. Throws NOT_FOUND if it is missing or not visible to the principal. */
export async function requireSession(sessions: Collection<SessionDocument>, principal: Principal, key: string): Promise<SessionDocument> {
  const session = await sessions.for(principal).get(resolveSessionKey(key, principal));
  if (!session || !canSee(principal, session)) throw sessionNotFound();
  return session;
}

/** Returns the newest session that the client created, in one channel or in any. Sessions of other clients are never returned. */
export async function findNewestOwnSession(
  sessions: Collection<SessionDocument>,
  principal: Principal,
  channelId?: string,
): Promise<SessionDocument | undefined> {
  const filter = { ...visibilityFilter(principal), createdBy: principal.client, ...(channelId === undefined ? {} : { channelId }) };
  return (await sessions.for(principal).find(filter, { sort: [['updatedAt', 'desc']], limit: 1 })).items[0];
}

/** Returns the default session of a caller: the session of its turn, otherwise the newest that it created. */
export async function findCallerSession(sessions: Collection<SessionDocument>, principal: Principal): Promise<SessionDocument | undefined> {
  if (principal.session === undefined) return findNewestOwnSession(sessions, principal);
  const session = await sessions.for(principal).get(principal.session);
  return session && canSee(principal, session) ? session : undefined;
}

export interface HistoryEntry {
  role: string;
  content: string;
  timestamp: number;
  /** Set on auto-continued turns: the turn being continued. */
  follows?: string;
  /** The text may come from outside the conversation. */
  untrusted?: true;
  /** The text is or may repeat text from outside this system. */
  outside?: true;
}

export interface HistoryDeps extends SettlingDeps {
  bodies: Collection<BodyDocument>;
}

/** Loads the messages of all counted turns, oldest first. */
export async function loadHistory(
  { turns, bodies }: Pick<HistoryDeps, 'turns' | 'bodies'>,
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
    entries.push(...(await loadEntries(bodies.for(principal), page.items)).map(withoutMarks));
    cursor = page.cursor;
  } while (cursor !== undefined);
  return entries;
}

/** Loads the messages of finished turns, in the order of the turns. */
export async function loadEntries(bodies: Documents<BodyDocument>, turns: readonly TurnDocument[]): Promise<HistoryEntry[]> {
  const all = turns.flatMap((turn) =>
    listMessages(turn).map((message, at) => ({
      ...message,
      timestamp: messageTimes(turn)[at] ?? turn.createdAt,
      ...(at === 0 ? continuationField(turn) : {}),
      ...(isUntrusted(turn, message.role) ? { untrusted: true as const } : {}),
      ...(isOutside(turn, message.role) ? { outside: true as const } : {}),
    })),
  );
  const content = await loadTexts(bodies, all);
  return all.map(({ role, timestamp, follows, untrusted, outside }, at) => ({
    role,
    content: content[at] ?? '',
    timestamp,
    ...(follows === undefined ? {} : { follows }),
    ...(untrusted && { untrusted }),
    ...(outside && { outside }),
  }));
}

/** Only agents get the marks, because they could follow instructions in the text. */
export function withoutMarks(marked: HistoryEntry): HistoryEntry {
  const { untrusted: _untrusted, outside: _outside, ...entry } = marked;
  return entry;
}

function continuationField({ continuationOf }: TurnDocument): Pick<HistoryEntry, 'follows'> {
  return continuationOf ? { follows: continuationOf.turnId } : {};
}

/** Returns the time of each message of a turn. */
export function messageTimes({ createdAt, merged = [], finishedAt = createdAt }: TurnDocument): number[] {
  return [createdAt, ...merged.map(({ at }) => at), finishedAt];
}

/** Returns the last finished turns of a session, newest first. */
export async function loadLastTurns(turns: Documents<TurnDocument>, session: SessionDocument, limit: number): Promise<TurnDocument[]> {
  const { key, epoch, lastSeq, messageCount } = session;
  if (messageCount === 0 || limit === 0) return [];
  return (await turns.find({ sessionKey: key, epoch, seq: { lte: lastSeq } }, { sort: [['seq', 'desc']], limit })).items;
}

/**
 * Loads the history after waiting for finished turns to be counted. A client restricted to its own sessions gets nothing of a session that
 * another client recreated meanwhile.
 */
export async function readHistory(reading: HistoryDeps, principal: Principal, seen: SessionDocument): Promise<HistoryEntry[]> {
  const session = await waitUntilSettled(reading, principal.tenant, seen);
  if (!session) throw sessionNotFound();
  const content = await loadHistory(reading, principal, session);
  if (principal.sessions === 'own') await requireSession(reading.sessions, principal, session.key);
  return content;
}
