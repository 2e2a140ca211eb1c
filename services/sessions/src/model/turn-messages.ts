import { countCheckpointChars } from './checkpoint-log.ts';
import type { TurnDocument } from './turn-document.ts';
import type { TextReference } from './stored-text.ts';
import type { StoredText } from './text-document.ts';

/** Reference to a message of a turn, with its role. */
export interface TurnMessageRef extends TextReference {
  role: 'user' | 'assistant';
}

const EMPTY_TEXT: StoredText = { chars: 0, text: '' };

/** Lists the messages of a finished turn in order: its own message, merged messages, the answer. */
export function listMessages({
  turnId,
  message,
  merged = [],
  answer = EMPTY_TEXT,
}: Pick<TurnDocument, 'turnId' | 'message' | 'merged' | 'answer'>): TurnMessageRef[] {
  return [
    ...[message, ...merged.map(({ content }) => content)].map((reply) => ({ role: 'user' as const, turnId, content: reply })),
    { role: 'assistant', turnId, content: answer },
  ];
}

/** Number of messages that a finished turn adds to its session. */
export function countMessages({ merged = [] }: Pick<TurnDocument, 'merged'>): number {
  return merged.length + 2;
}

/** Total characters of these messages. */
export function countChars(exchange: Parameters<typeof listMessages>[0]): number {
  return listMessages(exchange).reduce((sum, { content }) => sum + content.chars, 0);
}

/** Characters that a turn stores besides its messages: tool results and other checkpoints, and the material of its order. */
export function countExtraChars({ steps, context }: Pick<TurnDocument, 'steps' | 'context'>): number {
  return countCheckpointChars(steps) + (context?.chars ?? 0);
}
