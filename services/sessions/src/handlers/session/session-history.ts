import type { Handler } from '@switchyard/bus';
import {
  findCallerSession,
  findNewestOwnSession,
  readHistory,
  requireSession,
  type HistoryDeps,
} from '../../sessions/session-directory.ts';
import { labelField } from '../../model/session-document.ts';

/**
 * Returns the messages of the named session. Without a key it returns those of the calling agent's session, or of the caller's newest
 * session, optionally in one channel.
 */
export function sessionHistory(reading: HistoryDeps): Handler<'session.history'> {
  const { sessions } = reading;
  return async ({ channelId, session_key }, { principal }) => {
    const session =
      session_key !== undefined
        ? await requireSession(sessions, principal, session_key)
        : channelId !== undefined
          ? await findNewestOwnSession(sessions, principal, channelId)
          : await findCallerSession(sessions, principal);
    return session ? { messages: await readHistory(reading, principal, session), ...labelField(session) } : { messages: [] };
  };
}
