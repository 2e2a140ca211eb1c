import type { AgentConfig } from '@switchyard/contracts';
import type { EntryDocument } from '../documents/collections.ts';

export type ReviewLimits = Pick<AgentConfig['memoryReview'], 'minMessages' | 'maxSessionsPerRun' | 'maxReviewTokens'>;

/** What is kept of a session is what was said and what was answered. */
const MESSAGES_EACH = 2;
const CHARS_PER_TOKEN = 4;

/**
 * The memories that a review begins at, of those given, the newest first: those of the newest sessions that said enough, and what was
 * told outside of any, as many as there are tokens for, and one at least. What is near to them is found wherever it is from.
 */
export function chooseSeeds<E extends Pick<EntryDocument, 'sessionKey' | 'content'>>(
  newestFirst: readonly E[],
  { minMessages, maxSessionsPerRun, maxReviewTokens }: ReviewLimits,
): E[] {
  const said = new Map<string | undefined, number>();
  for (const { sessionKey } of newestFirst) said.set(sessionKey, (said.get(sessionKey) ?? 0) + MESSAGES_EACH);
  const sessions = new Set<string>();
  const seeds: E[] = [];
  let tokens = 0;
  for (const entry of newestFirst) {
    const { sessionKey, content } = entry;
    if (sessionKey !== undefined && !sessions.has(sessionKey)) {
      if (sessions.size >= maxSessionsPerRun || (said.get(sessionKey) ?? 0) < minMessages) continue;
      sessions.add(sessionKey);
    }
    tokens += Math.ceil(content.length / CHARS_PER_TOKEN);
    if (tokens > maxReviewTokens && seeds.length > 0) break;
    seeds.push(entry);
  }
  return seeds;
}
