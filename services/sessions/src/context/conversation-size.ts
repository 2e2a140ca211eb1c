import type { SessionDocument } from '../model/session-document.ts';
import { toTokens } from '../context-window/context-window.ts';
import { getSize } from './compaction/summary-tree.ts';

/** Counts of messages, and of summaries, in the prompt of a conversation. */
export function getLength({ messageCount, roots = [], ...session }: SessionDocument): { messages: number; tokens: number } {
  const folded = roots.reduce((sum, { messages }) => sum + messages, 0);
  return { messages: messageCount - folded + roots.length, tokens: toTokens(getSize({ ...session, roots })) };
}
