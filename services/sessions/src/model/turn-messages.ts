import type { TurnDocument } from './turn-document.ts';
import type { Quoted } from './stored-text.ts';
import type { Said } from './text-document.ts';

/** Reference to a message of a turn, with its role. */
export interface Spoken extends Quoted {
  role: 'user' | 'assistant';
}

const NOTHING: Said = { chars: 0, text: '' };

/** Lists the messages of a finished turn in order: its own message, merged messages, the answer. */
export function spoken({
  turnId,
  message,
  joined = [],
  answer = NOTHING,
}: Pick<TurnDocument, 'turnId' | 'message' | 'joined' | 'answer'>): Spoken[] {
  return [
    ...[message, ...joined.map(({ said }) => said)].map((said) => ({ role: 'user' as const, turnId, said })),
    { role: 'assistant', turnId, said: answer },
  ];
}

/** Number of messages that a finished turn adds to its session. */
export function messagesOf({ joined = [] }: Pick<TurnDocument, 'joined'>): number {
  return joined.length + 2;
}

/** Total characters of these messages. */
export function charsOf(exchange: Parameters<typeof spoken>[0]): number {
  return spoken(exchange).reduce((sum, { said }) => sum + said.chars, 0);
}
