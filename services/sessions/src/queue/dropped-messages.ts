import type { Documents } from '@switchyard/store';
import { type TurnDocument, hasEnded } from '../model/turn-document.ts';
import { loadText, type Bodies } from '../model/stored-text.ts';

/** Of those that were left out one after the other, so many are told of, the latest. */
const MAX_LINES = 20;
const MAX_LINE_CHARS = 200;

/** Turns that were left out for another one, and how their messages begin. */
type DroppedLines = NonNullable<TurnDocument['dropped']>[number];

/** What is to be told of a turn that is left out: how it begins, and what it was to tell itself. */
export async function collectDroppedLines(bodies: Bodies, turn: TurnDocument): Promise<DroppedLines> {
  const { turnId, message } = turn;
  const said = (await loadText(bodies, turnId, message)).replaceAll(/\s+/g, ' ').trim();
  const text = said.length <= MAX_LINE_CHARS ? said : `${said.slice(0, MAX_LINE_CHARS)}…`.toWellFormed();
  return { lines: [...previousLines(turn), { turnId, text }].slice(-MAX_LINES) };
}

/** Each once, whoever wrote it down how often. */
function previousLines({ dropped = [] }: TurnDocument): DroppedLines['lines'] {
  const lines = dropped.flatMap((one) => one.lines);
  return lines.filter(({ turnId }, at) => lines.findIndex((line) => line.turnId === turnId) === at).slice(-MAX_LINES);
}

/** What the model reads of those that were left out; nothing of one that was written down here and then had its own turn. */
export async function renderDroppedMessages(turns: Documents<TurnDocument>, turn: TurnDocument): Promise<string | undefined> {
  const written = previousLines(turn);
  if (written.length === 0) return undefined;
  const { items } = await turns.find({ turnId: { in: written.map(({ turnId }) => turnId) } }, { limit: MAX_LINES });
  const own = new Set(items.filter((other) => !hasEnded(other) || other.state === 'done').map(({ turnId }) => turnId));
  const lines = written.filter(({ turnId }) => !own.has(turnId)).map(({ text }) => `- ${text}`);
  if (lines.length === 0) return undefined;
  return `More messages came than may wait, and these were left out. They began:\n${lines.join('\n')}`;
}
