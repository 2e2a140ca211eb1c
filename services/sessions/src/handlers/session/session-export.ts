import type { Handler } from '@switchyard/bus';
import { readHistory, requireSession, type HistoryDeps } from '../../sessions/session-directory.ts';
import { CONVERSATION_BYTES, type LoadBudget } from '../../sessions/load-budget.ts';
import { labelField } from '../../model/session-document.ts';

/** Returns a session with all its messages. */
export function sessionExport(reading: HistoryDeps & { loads: LoadBudget }): Handler<'session.export'> {
  return async ({ session_key }, { principal, signal }) => {
    const session = await requireSession(reading.sessions, principal, session_key);
    using _held = await reading.loads.take(principal, CONVERSATION_BYTES, signal);
    const texts = await readHistory(reading, principal, session);
    const { key, metadata, createdAt, updatedAt } = session;
    return { sessionKey: key, ...labelField(session), messages: texts, metadata, messageCount: texts.length, createdAt, updatedAt };
  };
}
