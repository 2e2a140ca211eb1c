import type { Handler } from '@switchyard/bus';
import type { Principal, Result } from '@switchyard/contracts';
import type { Collection, Store } from '@switchyard/store';
import type { SessionDocument } from '../../model/session-document.ts';
import { newEpochChange, type ResetSession, type ResetWork } from '../../sessions/session-reset.ts';
import { sessionKeyObject } from '../../sessions/new-session.ts';
import { parseSessionKey } from '../../model/session-key.ts';

export interface ResettingDeps {
  sessions: Collection<SessionDocument>;
  store: Pick<Store, 'now'>;
}

/** Empties a session and keeps its metadata. */
export function sessionReset({ emptying, ...deps }: ResettingDeps & { emptying: ResetSession }): Handler<'session.reset'> {
  return ({ session_key }, { principal }) => emptying(principal, session_key, resetting(deps, principal));
}

/** Empties an idle session. */
export function resetting({ sessions, store }: ResettingDeps, principal: Principal): ResetWork<Result<'session.reset'>> {
  return async (session, idle) => {
    const { key, userId, channelId, messageCount } = session;
    const identity = parseSessionKey(key) ?? { tenant: principal.tenant, userId, channelId };
    const expired = { name: 'session:expired', payload: { sessionKey: sessionKeyObject(identity), reason: 'operator-reset' } };
    const reset = await sessions.for(principal).update(idle, newEpochChange(store.now(), [expired]));
    return { done: reset !== null, result: { sessionKey: key, reset: true, previousMessageCount: messageCount } };
  };
}
