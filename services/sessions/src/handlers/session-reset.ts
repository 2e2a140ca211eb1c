import type { Handler } from '@switchyard/bus';
import type { Collection, Store } from '@switchyard/store';
import type { MessageDocument, SessionDocument } from '../data.ts';
import { lostHold, type Emptying } from '../sessions/emptying.ts';
import { sessionKeyObject } from '../sessions/lane.ts';
import { parseSessionKey } from '../sessions/session-key.ts';

export interface SessionResetDeps {
  sessions: Collection<SessionDocument>;
  messages: Collection<MessageDocument>;
  store: Pick<Store, 'now'>;
  emptying: Emptying;
}

/** The same session, empty; its metadata stays. */
export function sessionReset({ sessions, messages, store, emptying }: SessionResetDeps): Handler<'session.reset'> {
  return ({ session_key }, { principal }) =>
    emptying(principal, session_key, async (session, holder) => {
      const { key, userId, channelId, messageCount } = session;
      const identity = parseSessionKey(key) ?? { tenant: principal.tenant, userId, channelId };
      const expired = { name: 'session:expired', payload: { sessionKey: sessionKeyObject(identity), reason: 'operator-reset' } };
      await messages.for(principal).remove({ sessionKey: key });
      const emptied = await sessions
        .for(principal)
        .update({ key, activeTurn: holder }, { set: { activeTurn: null, messageCount: 0, updatedAt: store.now() }, emit: [expired] });
      if (!emptied) throw lostHold();
      return { sessionKey: key, reset: true, previousMessageCount: messageCount };
    });
}
