import type { Documents } from '@switchyard/store';
import { type TurnDocument, hasEnded } from '../model/turn-document.ts';
import { textOf, type Bodies } from '../model/stored-text.ts';

/** Of those that were left out one after the other, so many are told of, the latest. */
const MOST_LINES = 20;
const LINE_CHARS = 200;

/** Turns that were left out for another one, and how their messages begin. */
type LeftOut = NonNullable<TurnDocument['leftOut']>[number];

/** What is to be told of a turn that is left out: how it begins, and what it was to tell itself. */
export async function linesOf(bodies: Bodies, turn: TurnDocument): Promise<LeftOut> {
  const { turnId, message } = turn;
  const said = (await textOf(bodies, turnId, message)).replaceAll(/\s+/g, ' ').trim();
  const text = said.length <= LINE_CHARS ? said : `${said.slice(0, LINE_CHARS)}…`.toWellFormed();
  return { lines: [...earlierOf(turn), { turnId, text }].slice(-MOST_LINES) };
}

/** Each once, whoever wrote it down how often. */
function earlierOf({ leftOut = [] }: TurnDocument): LeftOut['lines'] {
  const lines = leftOut.flatMap((one) => one.lines);
  return lines.filter(({ turnId }, at) => lines.findIndex((line) => line.turnId === turnId) === at).slice(-MOST_LINES);
}

/** What the model reads of those that were left out; nothing of one that was written down here and then had its own turn. */
export async function leftOutText(turns: Documents<TurnDocument>, turn: TurnDocument): Promise<string | undefined> {
  const written = earlierOf(turn);
  if (written.length === 0) return undefined;
  const { items } = await turns.find({ turnId: { in: written.map(({ turnId }) => turnId) } }, { limit: MOST_LINES });
  const own = new Set(items.filter((other) => !hasEnded(other) || other.state === 'done').map(({ turnId }) => turnId));
  const lines = written.filter(({ turnId }) => !own.has(turnId)).map(({ text }) => `- ${text}`);
  if (lines.length === 0) return undefined;
  return `More messages came than may wait, and these were left out. They began:\n${lines.join('\n')}`;
}
