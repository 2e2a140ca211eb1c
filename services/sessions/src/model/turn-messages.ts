import type { TurnDocument } from './turn-document.ts';
import type { Quoted } from './stored-text.ts';
import type { Said } from './text-document.ts';

/** Something that was said in a turn, and by whom. */
export interface Spoken extends Quoted {
  role: 'user' | 'assistant';
}

const NOTHING: Said = { chars: 0, text: '' };

/** What was said in a turn that is done, in order: its message, those that it heard besides, the answer. */
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

/** How many messages a turn that is done adds to its session. */
export function messagesOf({ joined = [] }: Pick<TurnDocument, 'joined'>): number {
  return joined.length + 2;
}

/** How long they are. */
export function charsOf(exchange: Parameters<typeof spoken>[0]): number {
  return spoken(exchange).reduce((sum, { said }) => sum + said.chars, 0);
}
