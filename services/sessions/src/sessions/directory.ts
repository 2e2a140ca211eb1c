import type { Principal } from '@switchyard/contracts';
import type { Collection, Documents } from '@switchyard/store';
import type { MessageDocument, SessionDocument } from '../data.ts';
import { noSuchSession, sees } from './ownership.ts';
import { formatSessionKey, parseSessionKey, resolveSession } from './session-key.ts';

const PAGE = 1_000;

/** The session of a key; NOT_FOUND when it is not there, or not for this principal. */
export async function requireSession(sessions: Collection<SessionDocument>, principal: Principal, key: string): Promise<SessionDocument> {
  const session = await sessions.for(principal).get(formatSessionKey(resolveSession(key, principal, undefined)));
  if (!session || !sees(principal, session)) throw noSuchSession();
  return session;
}

/** The newest session that the client itself made, in one channel or in any. Nobody else's will do, whatever the client may read by key. */
export async function newestOwnSession(
  sessions: Collection<SessionDocument>,
  principal: Principal,
  channelId?: string,
): Promise<SessionDocument | undefined> {
  const filter = { createdBy: principal.client, ...(channelId === undefined ? {} : { channelId }) };
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
}

/** What was said, oldest first. The session's count says which messages there are, so that a turn shows whole or not at all. */
export async function history(messages: Documents<MessageDocument>, { key, messageCount }: SessionDocument): Promise<HistoryEntry[]> {
  const entries: HistoryEntry[] = [];
  let cursor: string | undefined;
  do {
    const page = await messages.find(
      { sessionKey: key, seq: { lt: messageCount } },
      { sort: [['seq', 'asc']], limit: PAGE, ...(cursor === undefined ? {} : { cursor }) },
    );
    for (const { role, content, timestamp } of page.items) entries.push({ role, content, timestamp });
    cursor = page.cursor;
  } while (cursor !== undefined);
  return entries;
}

export interface Reading {
  sessions: Collection<SessionDocument>;
  messages: Collection<MessageDocument>;
}

/** What was said in a session the principal may know of. Held to its own, it gets nothing of one that somebody else made again meanwhile. */
export async function read({ sessions, messages }: Reading, principal: Principal, session: SessionDocument): Promise<HistoryEntry[]> {
  const said = await history(messages.for(principal), session);
  if (principal.sessions === 'own') await requireSession(sessions, principal, session.key);
  return said;
}

/** The channel of a session's key. */
export function channelOf(sessionKey: string): string {
  return parseSessionKey(sessionKey)?.channelId ?? sessionKey;
}
