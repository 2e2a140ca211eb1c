import type { Handler } from '@switchyard/bus';
import { read, requireSession, type Reading } from '../../sessions/session-directory.ts';
import { labelOf } from '../../model/session-document.ts';

/** Returns a session with all its messages. */
export function sessionExport(reading: Reading): Handler<'session.export'> {
  return async ({ session_key }, { principal }) => {
    const session = await requireSession(reading.sessions, principal, session_key);
    const said = await read(reading, principal, session);
    const { key, metadata, createdAt, updatedAt } = session;
    return { sessionKey: key, ...labelOf(session), messages: said, metadata, messageCount: said.length, createdAt, updatedAt };
  };
}
