import type { Handler } from '@switchyard/bus';
import { findCallerSession, findNewestOwnSession, requireSession, type HistoryDeps } from '../../sessions/session-directory.ts';
import { PAGE_BYTES, type LoadBudget } from '../../sessions/load-budget.ts';
import { readHistoryPage } from '../../sessions/history-page.ts';
import { labelField } from '../../model/session-document.ts';

/**
 * Returns the newest messages of the named session, or those before a cursor. Without a key it returns those of the calling agent's session, or of the caller's newest
 * session, optionally in one channel.
 */
export function sessionHistory(reading: HistoryDeps & { loads: LoadBudget }): Handler<'session.history'> {
  const { sessions } = reading;
  return async ({ channelId, session_key, limit, cursor }, { principal, signal }) => {
    const session =
      session_key !== undefined
        ? await requireSession(sessions, principal, session_key)
        : channelId !== undefined
          ? await findNewestOwnSession(sessions, principal, channelId)
          : await findCallerSession(sessions, principal);
    if (!session) return { messages: [] };
    using _held = await reading.loads.take(principal, PAGE_BYTES, signal);
    return { ...(await readHistoryPage(reading, principal, session, { limit, cursor })), ...labelField(session) };
  };
}
