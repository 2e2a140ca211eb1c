import type { SessionDocument } from './session-document.ts';
import { parseSessionKey } from './session-key.ts';

/** What settings know a conversation as: between two, among several, or a thread of either. */
export type ChatKind = 'dm' | 'group' | 'thread';

export function chatKind({ key, kind }: Pick<SessionDocument, 'key' | 'kind'>): ChatKind {
  if (parseSessionKey(key)?.threadId !== undefined) return 'thread';
  return kind === 'group' ? 'group' : 'dm';
}
