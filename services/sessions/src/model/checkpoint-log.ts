import type { ModelMessage, ModelUsage, ToolCall } from '@switchyard/models';
import { keep, textOf, type Bodies } from './stored-text.ts';

/** What was done in a turn, as its document keeps it: enough to go on from there. */
export type Mark =
  /** A step of the model that calls tools, its number, which older ones do not say, and which of the calls is begun. */
  | {
      mark: 'said';
      step?: number;
      text: string;
      calls: readonly ToolCall[];
      input: number;
      output: number;
      /** Older ones do not say what a provider had cached. */
      cacheRead?: number;
      cacheWrite?: number;
      costUsd: number;
      begins: string;
    }
  /** What a tool said, where all of it is kept if that is more than the model reads, and which call is begun next. */
  | { mark: 'result'; callId: string; result: unknown; failed: boolean; whole?: string; begins?: string }
  /** So many more of the messages that the turn has heard besides its own (`TurnDocument.joined`). */
  | { mark: 'heard'; count: number };

/** Characters of a mark that stand in the turn's document; what is longer has a document of its own. */
const INLINE_CHARS = 512;

/** A mark as the document keeps it: itself, or the digest of what it says. */
export async function keepMark(bodies: Bodies, turnId: string, mark: Mark): Promise<unknown> {
  const text = JSON.stringify(mark);
  if (text.length <= INLINE_CHARS) return mark;
  const { body } = await keep(bodies, turnId, text, INLINE_CHARS);
  return { body };
}

export async function readMarks(bodies: Bodies, turnId: string, kept: readonly unknown[]): Promise<Mark[]> {
  return Promise.all(
    kept.map(async (one) => {
      const body = (one as { body?: unknown }).body;
      if (typeof body !== 'string') return one as Mark;
      return JSON.parse(await textOf(bodies, turnId, { chars: 0, body })) as Mark;
    }),
  );
}

/** What steps of a model used. Cached tokens are among the input. */
export interface Spent {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  costUsd: number;
}

export function nothingSpent(): Spent {
  return { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, costUsd: 0 };
}

export function addSpent(sum: Spent, { input, output, cacheRead = 0, cacheWrite = 0, costUsd }: ModelUsage & { costUsd: number }): void {
  sum.input += input;
  sum.output += output;
  sum.cacheRead += cacheRead;
  sum.cacheWrite += cacheWrite;
  sum.costUsd += costUsd;
}

/** Where a turn stands after its marks. */
export interface Standing {
  steps: number;
  messages: ModelMessage[];
  /** What all steps have said, and the last one that said something. */
  text: string;
  response: string;
  spent: Spent;
  /** How many calls the last step has. */
  asked: number;
  /** Some result is kept that the model has read the beginning of. */
  kept: boolean;
  /** Its calls that have no result, in order, and the one of them that was begun. */
  open: ToolCall[];
  begun: string | undefined;
}

/** Of a turn that heard others, `heard` has what their messages say. */
export function standingOf(marks: readonly Mark[], heard: readonly string[] = []): Standing {
  let next = 0;
  const standing: Standing = {
    steps: 0,
    messages: [],
    text: '',
    response: '',
    spent: nothingSpent(),
    asked: 0,
    kept: false,
    open: [],
    begun: undefined,
  };
  for (const mark of marks) {
    if (mark.mark === 'heard') {
      for (const text of heard.slice(next, (next += mark.count))) standing.messages.push({ role: 'user', text });
      continue;
    }
    standing.begun = mark.begins;
    if (mark.mark === 'said') addStep(standing, mark);
    else addResult(standing, mark);
  }
  return standing;
}

function addStep(standing: Standing, mark: Extract<Mark, { mark: 'said' }>): void {
  const { step = standing.steps + 1, text, calls } = mark;
  standing.steps = step;
  standing.text += text;
  standing.response = text === '' ? standing.response : text;
  addSpent(standing.spent, mark);
  standing.asked = calls.length;
  standing.open = [...calls];
  standing.messages.push({ role: 'assistant', text, toolCalls: calls });
}

function addResult(standing: Standing, { callId, result, failed, whole }: Extract<Mark, { mark: 'result' }>): void {
  standing.kept ||= whole !== undefined;
  // Results come in the order of the calls, whose ids a model may repeat.
  const call = standing.open.shift();
  standing.messages.push({ role: 'tool', callId, name: call?.name ?? '', result, failed });
}
