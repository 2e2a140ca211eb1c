import type { Handler } from '@switchyard/bus';
import type { Collection, Store } from '@switchyard/store';
import type { SessionDocument } from '../data.ts';
import { emptied, type Emptying } from '../sessions/emptying.ts';
import { sessionKeyObject } from '../sessions/new-session.ts';
import { parseSessionKey } from '../sessions/session-key.ts';

export interface SessionResetDeps {
  sessions: Collection<SessionDocument>;
  store: Pick<Store, 'now'>;
  emptying: Emptying;
}

/** The same session, empty; its metadata stays. */
export function sessionReset({ sessions, store, emptying }: SessionResetDeps): Handler<'session.reset'> {
  return ({ session_key }, { principal }) =>
    emptying(principal, session_key, async (session, idle) => {
      const { key, userId, channelId, messageCount } = session;
      const identity = parseSessionKey(key) ?? { tenant: principal.tenant, userId, channelId };
      const expired = { name: 'session:expired', payload: { sessionKey: sessionKeyObject(identity), reason: 'operator-reset' } };
      const reset = await sessions.for(principal).update(idle, emptied(store.now(), [expired]));
      return { done: reset !== null, result: { sessionKey: key, reset: true, previousMessageCount: messageCount } };
    });
}
