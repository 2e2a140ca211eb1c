import type { Documents } from '@switchyard/store';
import { type TurnDocument, hasEnded } from '../model/turn-document.ts';
import { loadText, type Bodies } from '../model/stored-text.ts';

/** Maximum number of dropped messages that are included; the latest are kept. */
const MAX_LINES = 20;
const MAX_LINE_CHARS = 200;

/** Dropped turns with the beginning of their messages. */
type DroppedLines = NonNullable<TurnDocument['dropped']>[number];

/** Collects the lines that a later turn includes about a dropped one: its own message and the lines it carried. */
export async function collectDroppedLines(bodies: Bodies, turn: TurnDocument): Promise<DroppedLines> {
  const { turnId, message } = turn;
  const content = (await loadText(bodies, turnId, message)).replaceAll(/\s+/g, ' ').trim();
  const text = content.length <= MAX_LINE_CHARS ? content : `${content.slice(0, MAX_LINE_CHARS)}…`.toWellFormed();
  return { lines: [...previousLines(turn), { turnId, text }].slice(-MAX_LINES) };
}

/** Removes duplicates, which appear when a write was retried. */
function previousLines({ dropped = [] }: TurnDocument): DroppedLines['lines'] {
  const lines = dropped.flatMap((one) => one.lines);
  return lines.filter(({ turnId }, at) => lines.findIndex((line) => line.turnId === turnId) === at).slice(-MAX_LINES);
}

/** Renders the dropped messages for the model. Skips turns that were recorded here but ran after all. */
export async function renderDroppedMessages(turns: Documents<TurnDocument>, turn: TurnDocument): Promise<string | undefined> {
  const written = previousLines(turn);
  if (written.length === 0) return undefined;
  const { items } = await turns.find({ turnId: { in: written.map(({ turnId }) => turnId) } }, { limit: MAX_LINES });
  const own = new Set(items.filter((other) => !hasEnded(other) || other.state === 'done').map(({ turnId }) => turnId));
  const lines = written.filter(({ turnId }) => !own.has(turnId)).map(({ text }) => `- ${text}`);
  if (lines.length === 0) return undefined;
  return `The queue was full, and these messages were dropped. They began:\n${lines.join('\n')}`;
}
