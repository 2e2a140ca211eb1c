import type { Handler } from '@switchyard/bus';
import { callersSession, newestOwnSession, read, requireSession, type Reading } from '../../sessions/session-directory.ts';
import { labelOf } from '../../model/session-document.ts';

/**
 * Returns the messages of the named session. Without a key it returns those of the calling agent's session, or of the caller's newest
 * session, optionally in one channel.
 */
export function sessionHistory(reading: Reading): Handler<'session.history'> {
  const { sessions } = reading;
  return async ({ channelId, session_key }, { principal }) => {
    const session =
      session_key !== undefined
        ? await requireSession(sessions, principal, session_key)
        : channelId !== undefined
          ? await newestOwnSession(sessions, principal, channelId)
          : await callersSession(sessions, principal);
    return session ? { messages: await read(reading, principal, session), ...labelOf(session) } : { messages: [] };
  };
}
