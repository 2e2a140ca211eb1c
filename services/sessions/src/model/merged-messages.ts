import type { MergedMessage, TurnDocument } from './turn-document.ts';
import { loadTexts, type Bodies } from './stored-text.ts';

/** Loads the texts of the messages that a turn has merged. */
export function loadMergedTexts(bodies: Bodies, { turnId, merged = [] }: TurnDocument): Promise<string[]> {
  return loadTexts(
    bodies,
    merged.map(({ content }) => ({ turnId, content })),
  );
}

/** Loads the merged messages with the ids of their turns. */
export async function loadMergedMessages(
  bodies: Bodies,
  turnId: string,
  merged: readonly MergedMessage[],
): Promise<{ turnId: string; question: string }[]> {
  const content = await loadTexts(
    bodies,
    merged.map((one) => ({ turnId, content: one.content })),
  );
  return merged.map((one, at) => ({ turnId: one.turnId, question: content[at] ?? '' }));
}
