import type { Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import type { Collection, Store } from '@switchyard/store';
import type { MessageDocument, SessionDocument } from '../data.ts';
import { refuseWhileActive, requireSession } from '../sessions/directory.ts';
import { sessionKeyObject } from '../sessions/lane.ts';
import { parseSessionKey } from '../sessions/session-key.ts';

/** The same session, empty; its metadata stays. */
export function sessionReset(
  sessions: Collection<SessionDocument>,
  messages: Collection<MessageDocument>,
  store: Store,
): Handler<'session.reset'> {
  return async ({ session_key }, ctx) => {
    const session = await requireSession(sessions, ctx.principal, session_key);
    refuseWhileActive(session);
    const { key } = session;
    const identity = parseSessionKey(key) ?? { tenant: ctx.principal.tenant, userId: session.userId, channelId: session.channelId };
    const expired = { name: 'session:expired', payload: { sessionKey: sessionKeyObject(identity), reason: 'operator-reset' } };
    const emptied = await sessions
      .for(ctx.principal)
      .update({ key, activeTurn: null }, { set: { messageCount: 0, updatedAt: store.now() }, emit: [expired] });
    if (!emptied) throw new ServiceError('ABORTED', 'A turn of this session began meanwhile; try again when it has ended.');
    await messages.for(ctx.principal).remove({ sessionKey: key });
    return { sessionKey: key, reset: true, previousMessageCount: session.messageCount };
  };
}
