import type { Handler } from '@switchyard/bus';
import type { Collection } from '@switchyard/store';
import type { MessageDocument, SessionDocument } from '../data.ts';
import { history, requireSession } from '../sessions/directory.ts';

/** One session with all its messages. */
export function sessionExport(sessions: Collection<SessionDocument>, messages: Collection<MessageDocument>): Handler<'session.export'> {
  return async ({ session_key }, ctx) => {
    const session = await requireSession(sessions, ctx.principal, session_key);
    const said = await history(messages.for(ctx.principal), session);
    const { key, metadata, createdAt, updatedAt } = session;
    return { sessionKey: key, messages: said, metadata, messageCount: said.length, createdAt, updatedAt };
  };
}
