import { ServiceError, type Principal } from '@switchyard/contracts';
import type { Collection, Documents } from '@switchyard/store';
import type { MessageDocument, SessionDocument } from '../data.ts';
import { formatSessionKey, parseSessionKey, resolveSession } from './session-key.ts';

/** How many of a channel's newest sessions are looked through for one that the caller used. */
const LOOK_BACK = 500;
const PAGE = 1_000;

/** The session of a key; NOT_FOUND when it is not there or belongs to another tenant. */
export async function requireSession(sessions: Collection<SessionDocument>, principal: Principal, key: string): Promise<SessionDocument> {
  const session = await sessions.for(principal).get(formatSessionKey(resolveSession(key, principal, undefined)));
  if (!session) throw new ServiceError('NOT_FOUND', 'There is no such session.');
  return session;
}

/** The newest session of a channel that this client used, else the tenant's newest of that channel. */
export async function newestSession(
  sessions: Collection<SessionDocument>,
  principal: Principal,
  channelId: string,
): Promise<SessionDocument | undefined> {
  const { own, newest } = await lookBack(sessions, principal, channelId);
  return own ?? newest;
}

/** The newest session of a channel that this client used; nobody else's will do. */
export async function newestOwnSession(
  sessions: Collection<SessionDocument>,
  principal: Principal,
  channelId: string,
): Promise<SessionDocument | undefined> {
  return (await lookBack(sessions, principal, channelId)).own;
}

async function lookBack(sessions: Collection<SessionDocument>, principal: Principal, channelId: string) {
  const { items } = await sessions.for(principal).find({ channelId }, { sort: [['updatedAt', 'desc']], limit: LOOK_BACK });
  return { own: items.find((session) => session.clients.includes(principal.client)), newest: items[0] };
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

/** The channel of a session's key. */
export function channelOf(sessionKey: string): string {
  return parseSessionKey(sessionKey)?.channelId ?? sessionKey;
}
