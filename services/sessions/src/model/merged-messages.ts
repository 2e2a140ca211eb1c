import type { MergedMessage, TurnDocument } from './turn-document.ts';
import { loadTexts, type Bodies } from './stored-text.ts';

/** What the messages say that a turn has heard before. */
export function loadMergedTexts(bodies: Bodies, { turnId, merged = [] }: TurnDocument): Promise<string[]> {
  return loadTexts(
    bodies,
    merged.map(({ content }) => ({ turnId, said: content })),
  );
}

/** The same, and whose they are. */
export async function loadMergedMessages(
  bodies: Bodies,
  turnId: string,
  merged: readonly MergedMessage[],
): Promise<{ turnId: string; question: string }[]> {
  const said = await loadTexts(
    bodies,
    merged.map((one) => ({ turnId, said: one.content })),
  );
  return merged.map((one, at) => ({ turnId: one.turnId, question: said[at] ?? '' }));
}
