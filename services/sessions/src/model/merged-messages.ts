import type { Heard, TurnDocument } from './turn-document.ts';
import { texts, type Bodies } from './stored-text.ts';

/** Loads the texts of the messages that a turn has merged. */
export function heardBy(bodies: Bodies, { turnId, joined = [] }: TurnDocument): Promise<string[]> {
  return texts(
    bodies,
    joined.map(({ said }) => ({ turnId, said })),
  );
}

/** Loads the merged messages with the ids of their turns. */
export async function heardIn(bodies: Bodies, turnId: string, heard: readonly Heard[]): Promise<{ turnId: string; question: string }[]> {
  const said = await texts(
    bodies,
    heard.map((one) => ({ turnId, said: one.said })),
  );
  return heard.map((one, at) => ({ turnId: one.turnId, question: said[at] ?? '' }));
}
