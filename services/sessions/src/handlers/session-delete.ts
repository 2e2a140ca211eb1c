import type { Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import type { MessageDocument, SessionDocument } from '../data.ts';
import { history, refuseWhileActive, requireSession } from '../sessions/directory.ts';

/** Removes a session and its messages; the transcript is in this answer and nowhere else. */
export function sessionDelete(sessions: Collection<SessionDocument>, messages: Collection<MessageDocument>): Handler<'session.delete'> {
  return async ({ session_key }, ctx) => {
    const session = await requireSession(sessions, ctx.principal, session_key);
    refuseWhileActive(session);
    const said = await history(messages.for(ctx.principal), session);
    const { key, metadata } = session;
    const removed = await sessions.for(ctx.principal).remove({ key, activeTurn: null });
    if (removed === 0) throw new ServiceError('ABORTED', 'A turn of this session began meanwhile; try again when it has ended.');
    await messages.for(ctx.principal).remove({ sessionKey: key });
    return { sessionKey: key, deleted: true, transcript: { messages: said, metadata, messageCount: said.length } };
  };
}
