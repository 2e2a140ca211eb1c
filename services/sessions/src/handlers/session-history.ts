import type { Handler } from '@switchyard/bus';
import type { Collection } from '@switchyard/store';
import type { MessageDocument, SessionDocument } from '../data.ts';
import { history, newestSession, requireSession } from '../sessions/directory.ts';

/** One session's messages: the one named, the one the calling agent is in, or the caller's newest of a channel. */
export function sessionHistory(sessions: Collection<SessionDocument>, messages: Collection<MessageDocument>): Handler<'session.history'> {
  return async ({ channelId, session_key }, ctx) => {
    const { principal } = ctx;
    const key = session_key ?? (channelId === undefined ? principal.session : undefined);
    const session =
      key === undefined ? await newestSession(sessions, principal, channelId ?? 'gateway') : await requireSession(sessions, principal, key);
    return { messages: session ? await history(messages.for(principal), session) : [] };
  };
}
