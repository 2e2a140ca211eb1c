import type { Handler } from '@switchyard/bus';
import { read, requireSession, type Reading } from '../sessions/directory.ts';

/** One session with all its messages. */
export function sessionExport({ sessions, messages }: Reading): Handler<'session.export'> {
  return async ({ session_key }, { principal }) => {
    const session = await requireSession(sessions, principal, session_key);
    const said = await read({ sessions, messages }, principal, session);
    const { key, metadata, createdAt, updatedAt } = session;
    return { sessionKey: key, messages: said, metadata, messageCount: said.length, createdAt, updatedAt };
  };
}
