import type { Agent } from '../../agents/agent-directory.ts';
import { getChatKind } from '../../model/session-key.ts';

/** Maximum number of unsummarized exchanges in the prompt. */
const MOST_EXCHANGES = 1_000;

/** Maximum number of first turns before the summaries (`compactionPrefixAnchorTurns`). */
export const MOST_ANCHORS = 10;

/** Maximum number of recent exchanges of a session in the prompt of its agent. */
export function mostExchanges({ config }: Agent, session: Parameters<typeof getChatKind>[0]): number {
  const { version, historyTurns, historyTurnOverrides: overrides } = config.contextEngine;
  return version === 'dag' ? MOST_EXCHANGES : (overrides?.[getChatKind(session)] ?? historyTurns);
}
