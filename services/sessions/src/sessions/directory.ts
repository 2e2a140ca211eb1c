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

/** The newest session of a channel that this client used, else the tenant's newest of that channel (ARCHITECTURE 9.12). */
export async function newestSession(
  sessions: Collection<SessionDocument>,
  principal: Principal,
  channelId: string,
): Promise<SessionDocument | undefined> {
  const { items } = await sessions.for(principal).find({ channelId }, { sort: [['updatedAt', 'desc']], limit: LOOK_BACK });
  return items.find((session) => session.clients.includes(principal.client)) ?? items[0];
}

export interface HistoryEntry {
  role: string;
  content: string;
  timestamp: number;
}

/** What was said, oldest first. A turn that has not ended has said nothing yet. */
export async function history(messages: Documents<MessageDocument>, session: SessionDocument): Promise<HistoryEntry[]> {
  const entries: HistoryEntry[] = [];
  let cursor: string | undefined;
  do {
    const page = await messages.find(
      { sessionKey: session.key },
      { sort: [['seq', 'asc']], limit: PAGE, ...(cursor === undefined ? {} : { cursor }) },
    );
    for (const { turnId, role, content, timestamp } of page.items) {
      if (turnId !== session.activeTurn) entries.push({ role, content, timestamp });
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
  return entries;
}

/** sub-agent when another session spawned it, group when it has a guild, else dm (facts 2.1). */
export function kindOf(session: SessionDocument): 'sub-agent' | 'group' | 'dm' {
  if ('parentSessionKey' in session.metadata) return 'sub-agent';
  return session.guildId === undefined ? 'dm' : 'group';
}

/** A session that a turn uses now cannot be emptied under it. */
export function refuseWhileActive(session: SessionDocument): void {
  if (session.activeTurn === null) return;
  throw new ServiceError('FAILED_PRECONDITION', 'A turn of this session is running; try again when it has ended.', {
    details: { reason: 'SESSION_BUSY', retryable: true },
  });
}

/** The channel of a session's key. */
export function channelOf(sessionKey: string): string {
  return parseSessionKey(sessionKey)?.channelId ?? sessionKey;
}
