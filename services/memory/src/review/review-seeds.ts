import type { AgentConfig } from '@switchyard/contracts';
import type { EntryDocument } from '../documents/collections.ts';

export type ReviewLimits = Pick<AgentConfig['memoryReview'], 'minMessages' | 'maxSessionsPerRun' | 'maxReviewTokens'>;

/** A captured memory contains a message and its answer. */
const MESSAGES_PER_MEMORY = 2;
const CHARS_PER_TOKEN = 4;

/**
 * Selects the memories that a review starts from, newest first: from the newest sessions with at least `minMessages`, and memories
 * without a session, up to `maxReviewTokens` and at least one. Similar memories are then searched among all.
 */
export function chooseSeeds<E extends Pick<EntryDocument, 'sessionKey' | 'content'>>(
  newestFirst: readonly E[],
  { minMessages, maxSessionsPerRun, maxReviewTokens }: ReviewLimits,
): E[] {
  const messages = new Map<string | undefined, number>();
  for (const { sessionKey } of newestFirst) messages.set(sessionKey, (messages.get(sessionKey) ?? 0) + MESSAGES_PER_MEMORY);
  const sessions = new Set<string>();
  const seeds: E[] = [];
  let tokens = 0;
  for (const entry of newestFirst) {
    const { sessionKey, content } = entry;
    if (sessionKey !== undefined && !sessions.has(sessionKey)) {
      if (sessions.size >= maxSessionsPerRun || (messages.get(sessionKey) ?? 0) < minMessages) continue;
      sessions.add(sessionKey);
    }
    tokens += Math.ceil(content.length / CHARS_PER_TOKEN);
    if (tokens > maxReviewTokens && seeds.length > 0) break;
    seeds.push(entry);
  }
  return seeds;
}
