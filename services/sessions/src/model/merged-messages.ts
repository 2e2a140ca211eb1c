import type { Heard, TurnDocument } from './turn-document.ts';
import { texts, type Bodies } from './stored-text.ts';

/** What the messages say that a turn has heard before. */
export function heardBy(bodies: Bodies, { turnId, joined = [] }: TurnDocument): Promise<string[]> {
  return texts(
    bodies,
    joined.map(({ said }) => ({ turnId, said })),
  );
}

/** The same, and whose they are. */
export async function heardIn(bodies: Bodies, turnId: string, heard: readonly Heard[]): Promise<{ turnId: string; question: string }[]> {
  const said = await texts(
    bodies,
    heard.map((one) => ({ turnId, said: one.said })),
  );
  return heard.map((one, at) => ({ turnId: one.turnId, question: said[at] ?? '' }));
}
