import type { Agent } from '../../agents/agent-directory.ts';
import { getChatKind } from '../../model/session-key.ts';

/** Maximum number of unsummarized exchanges in the prompt. */
const MAX_EXCHANGES = 1_000;

/** Maximum number of first turns before the summaries (`compactionPrefixAnchorTurns`). */
export const MAX_ANCHORS = 10;

/** Maximum number of recent exchanges of a session in the prompt of its agent. */
export function getMaxExchanges({ config }: Agent, session: Parameters<typeof getChatKind>[0]): number {
  const { version, historyTurns, historyTurnOverrides: overrides } = config.contextEngine;
  return version === 'dag' ? MAX_EXCHANGES : (overrides?.[getChatKind(session)] ?? historyTurns);
}
