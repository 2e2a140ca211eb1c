import type { TurnDocument } from './turn-document.ts';
import type { TextReference } from './stored-text.ts';
import type { StoredText } from './text-document.ts';

/** Something that was said in a turn, and by whom. */
export interface TurnMessageRef extends TextReference {
  role: 'user' | 'assistant';
}

const EMPTY_TEXT: StoredText = { chars: 0, text: '' };

/** What was said in a turn that is done, in order: its message, those that it heard besides, the answer. */
export function listMessages({
  turnId,
  message,
  merged = [],
  answer = EMPTY_TEXT,
}: Pick<TurnDocument, 'turnId' | 'message' | 'merged' | 'answer'>): TurnMessageRef[] {
  return [
    ...[message, ...merged.map(({ content }) => content)].map((said) => ({ role: 'user' as const, turnId, said })),
    { role: 'assistant', turnId, said: answer },
  ];
}

/** How many messages a turn that is done adds to its session. */
export function countMessages({ merged = [] }: Pick<TurnDocument, 'merged'>): number {
  return merged.length + 2;
}

/** How long they are. */
export function countChars(exchange: Parameters<typeof listMessages>[0]): number {
  return listMessages(exchange).reduce((sum, { said }) => sum + said.chars, 0);
}
