import type { Documents } from '@switchyard/store';
import { type TurnDocument, hasEnded } from '../model/turn-document.ts';
import { textOf, type Bodies } from '../model/stored-text.ts';

/** Maximum number of dropped messages that are included; the latest are kept. */
const MOST_LINES = 20;
const LINE_CHARS = 200;

/** Dropped turns with the beginning of their messages. */
type LeftOut = NonNullable<TurnDocument['leftOut']>[number];

/** Collects the lines that a later turn includes about a dropped one: its own message and the lines it carried. */
export async function linesOf(bodies: Bodies, turn: TurnDocument): Promise<LeftOut> {
  const { turnId, message } = turn;
  const said = (await textOf(bodies, turnId, message)).replaceAll(/\s+/g, ' ').trim();
  const text = said.length <= LINE_CHARS ? said : `${said.slice(0, LINE_CHARS)}…`.toWellFormed();
  return { lines: [...earlierOf(turn), { turnId, text }].slice(-MOST_LINES) };
}

/** Removes duplicates, which appear when a write was retried. */
function earlierOf({ leftOut = [] }: TurnDocument): LeftOut['lines'] {
  const lines = leftOut.flatMap((one) => one.lines);
  return lines.filter(({ turnId }, at) => lines.findIndex((line) => line.turnId === turnId) === at).slice(-MOST_LINES);
}

/** Renders the dropped messages for the model. Skips turns that were recorded here but ran after all. */
export async function leftOutText(turns: Documents<TurnDocument>, turn: TurnDocument): Promise<string | undefined> {
  const written = earlierOf(turn);
  if (written.length === 0) return undefined;
  const { items } = await turns.find({ turnId: { in: written.map(({ turnId }) => turnId) } }, { limit: MOST_LINES });
  const own = new Set(items.filter((other) => !hasEnded(other) || other.state === 'done').map(({ turnId }) => turnId));
  const lines = written.filter(({ turnId }) => !own.has(turnId)).map(({ text }) => `- ${text}`);
  if (lines.length === 0) return undefined;
  return `More messages came than may wait, and these were left out. They began:\n${lines.join('\n')}`;
}
