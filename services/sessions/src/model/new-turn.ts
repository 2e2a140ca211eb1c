import type { TurnDocument } from './session-document.ts';

type Unbegun = Pick<TurnDocument, 'state' | 'fence' | 'attempts' | 'steps' | 'checkpoints' | 'tail' | 'createdAt'>;

/** What stands in every turn that is written, before anybody has begun on it. */
export function unbegun(createdAt: number): Unbegun {
  return { state: 'queued', fence: 0, attempts: 0, steps: [], checkpoints: 0, tail: [], createdAt };
}
