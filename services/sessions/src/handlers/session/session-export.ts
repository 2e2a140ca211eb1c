import type { Handler } from '@switchyard/bus';
import { readHistory, requireSession, type HistoryDeps } from '../../sessions/session-directory.ts';
import { labelField } from '../../model/session-document.ts';

/** Returns a session with all its messages. */
export function sessionExport(reading: HistoryDeps): Handler<'session.export'> {
  return async ({ session_key }, { principal }) => {
    const session = await requireSession(reading.sessions, principal, session_key);
    const texts = await readHistory(reading, principal, session);
    const { key, metadata, createdAt, updatedAt } = session;
    return { sessionKey: key, ...labelField(session), messages: texts, metadata, messageCount: texts.length, createdAt, updatedAt };
  };
}
