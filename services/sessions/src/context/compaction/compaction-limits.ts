import { USUAL_CONTEXT_THRESHOLD } from '@switchyard/contracts';
import type { Agent } from '../../agents/agent-directory.ts';
import { CHARS_A_TOKEN } from '../../context-window/context-window.ts';

/** How long a conversation may be, in characters, before it is made shorter. */
export interface CompactionLimits {
  /** Beyond this a summary is made after a turn. */
  soft: number;
  /** Beyond this a turn waits for one before it is told anything. */
  hard: number;
}

/** What is newest takes no more of this than half: otherwise there would be nothing left to make shorter. */
const RECENT_SHARE = 0.5;

/**
 * The limits of an agent whose model can be told so much. The context engine's own threshold counts where somebody has changed it, else
 * `softThresholdRatio`; nobody waits for a summary that would not be made.
 */
export function limitsIn(room: number, { config }: Agent): CompactionLimits {
  const { softThresholdRatio, hardThresholdRatio } = config.session.compaction;
  const { contextThreshold } = config.contextEngine;
  const soft = contextThreshold === USUAL_CONTEXT_THRESHOLD ? softThresholdRatio : contextThreshold;
  return { soft: room * soft, hard: room * Math.max(soft, hardThresholdRatio) };
}

/** So many characters of what was said last are told word by word, however many turns they are. */
export function recentChars(room: number, agent: Agent): number {
  const { keepRecentTokens } = agent.config.session.compaction;
  return Math.min(keepRecentTokens * CHARS_A_TOKEN, Math.floor(limitsIn(room, agent).soft * RECENT_SHARE));
}

/** How many of the newest are within so many characters, given how long each is, the newest first. */
export function countWithin(sizes: readonly number[], chars: number): number {
  let left = chars;
  const cut = sizes.findIndex((size) => (left -= size) < 0);
  return cut === -1 ? sizes.length : cut;
}
