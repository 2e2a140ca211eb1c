import type { ModelMessage, ModelUsage, ToolCall } from '@switchyard/models';
import { keep, textOf, type Bodies } from './stored-text.ts';

/** One checkpoint of a turn. All checkpoints together are enough to resume it. */
export type Mark =
  /** A model step that calls tools, with the id of the call that is started first. */
  | {
      mark: 'said';
      step?: number;
      text: string;
      calls: readonly ToolCall[];
      input: number;
      output: number;
      /** Tokens read from the provider's cache. */
      cacheRead?: number;
      cacheWrite?: number;
      costUsd: number;
      begins: string;
    }
  /** A tool result, the id of the full text if it was truncated for the model, and the id of the call that is started next. */
  | { mark: 'result'; callId: string; result: unknown; failed: boolean; whole?: string; begins?: string }
  /** The number of further messages that the turn has merged (`TurnDocument.joined`). */
  | { mark: 'heard'; count: number };

/** Maximum characters of a checkpoint stored inline. Longer ones get a document of their own. */
const INLINE_CHARS = 512;

/** Stores a checkpoint: itself, or the digest of its text. */
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

/** Token usage of model steps. Input tokens include cached tokens. */
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

/** State of a turn after its checkpoints. */
export interface Standing {
  steps: number;
  messages: ModelMessage[];
  /** Output of all steps, and of the last step with output. */
  text: string;
  response: string;
  spent: Spent;
  /** Number of calls of the last step. */
  asked: number;
  /** A tool result was stored of which the model has read only the beginning. */
  kept: boolean;
  /** Calls without a result, in order, and the id of the call that was started. */
  open: ToolCall[];
  begun: string | undefined;
}

/** Builds the resume state. `heard` holds the texts of the merged messages. */
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
  // Results are matched by position, because a model may repeat call ids.
  const call = standing.open.shift();
  standing.messages.push({ role: 'tool', callId, name: call?.name ?? '', result, failed });
}
