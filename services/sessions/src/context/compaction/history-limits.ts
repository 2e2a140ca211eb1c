import type { Agent } from '../../agents/agent-directory.ts';
import { chatKind } from '../../model/session-key.ts';

/** Of what no summary stands for, so many exchanges are told at most. */
const MOST_EXCHANGES = 1_000;

/** As many of the first turns may stand in front of the summaries (`compactionPrefixAnchorTurns`). */
export const MOST_ANCHORS = 10;

/** How many of the last exchanges of a session its agent is told at most. */
export function mostExchanges({ config }: Agent, session: Parameters<typeof chatKind>[0]): number {
  const { version, historyTurns, historyTurnOverrides: overrides } = config.contextEngine;
  return version === 'dag' ? MOST_EXCHANGES : (overrides?.[chatKind(session)] ?? historyTurns);
}
