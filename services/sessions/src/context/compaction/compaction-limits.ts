import { USUAL_CONTEXT_THRESHOLD } from '@switchyard/contracts';
import type { Agent } from '../../agents/agent-directory.ts';
import { CHARS_PER_TOKEN } from '../../context-window/context-window.ts';

/** Conversation sizes in characters that trigger a compaction. */
export interface CompactionLimits {
  /** Above this size the conversation is compacted after a turn. */
  soft: number;
  /** Above this size a turn waits for a compaction before it builds its prompt. */
  hard: number;
}

/** Maximum share of the room for the newest messages. More would leave nothing to summarize. */
const RECENT_SHARE = 0.5;

/**
 * Returns the limits of an agent for a model with the given room. The threshold of the context engine applies if it is set, else
 * `softThresholdRatio`; turns wait for a summary only if one will be made.
 */
export function limitsIn(room: number, { config }: Agent): CompactionLimits {
  const { softThresholdRatio, hardThresholdRatio } = config.session.compaction;
  const { contextThreshold } = config.contextEngine;
  const soft = contextThreshold === USUAL_CONTEXT_THRESHOLD ? softThresholdRatio : contextThreshold;
  return { soft: room * soft, hard: room * Math.max(soft, hardThresholdRatio) };
}

/** Characters of the newest messages that stay verbatim, over any number of turns. */
export function recentChars(room: number, agent: Agent): number {
  const { keepRecentTokens } = agent.config.session.compaction;
  return Math.min(keepRecentTokens * CHARS_PER_TOKEN, Math.floor(limitsIn(room, agent).soft * RECENT_SHARE));
}

/** Returns how many of the newest entries fit into `chars`. The sizes are ordered newest first. */
export function countWithin(sizes: readonly number[], chars: number): number {
  let remaining = chars;
  const cut = sizes.findIndex((size) => (remaining -= size) < 0);
  return cut === -1 ? sizes.length : cut;
}
