import type { SessionDocument } from '../model/session-document.ts';
import { tokensOf } from '../context-window/context-window.ts';
import { sizeOf } from './compaction/summary-tree.ts';

/** How much of a conversation is told by itself and in summaries. */
export function lengthOf({ messageCount, roots = [], ...session }: SessionDocument): { messages: number; tokens: number } {
  const folded = roots.reduce((sum, { messages }) => sum + messages, 0);
  return { messages: messageCount - folded + roots.length, tokens: tokensOf(sizeOf({ ...session, roots })) };
}
