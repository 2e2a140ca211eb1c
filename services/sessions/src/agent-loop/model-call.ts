import { ServiceError } from '@switchyard/contracts';
import { CIRCUIT_OPEN, type ModelAnswer, type ModelMessage, type ModelRequest, type ToolCall } from '@switchyard/models';
import type { Reserved, Used } from '../budgets/budgets.ts';
import { tokensOf } from '../context-window/context-window.ts';
import type { Asking } from '../agents/model-access.ts';
import type { TurnPlan } from './turn-plan.ts';

/** Model output of one step. */
export type Said = Omit<ModelAnswer, 'reasoning' | 'calls'> & {
  calls: ToolCall[];
  /** Streaming was stopped because the output exceeded the token budget of the turn. */
  beyond?: true;
};

/** Upper bound of characters per token. Longer output certainly exceeds the token budget. */
const MOST_CHARS_A_TOKEN = 8;

export interface AskedFor {
  messages: readonly ModelMessage[];
  /** Remaining tokens of the turn. */
  left: number;
  /** Budget reserved for this call. */
  reserved: Reserved | undefined;
  /** The turn has made steps or streamed text. */
  begun: boolean;
  /** Output limit, if it differs from the plan. */
  maxOutputTokens?: number;
  /** The model must answer without calling tools. */
  silent?: boolean;
  /** Returns the part of a text piece that may be published. Empty while a filtered sequence may be starting. */
  say: (piece: string) => string;
  /** The call retries an empty reply. If it fails, the empty reply stands. */
  followsUp?: boolean;
}

/** Returned by a started turn when the circuit breakers of all allowed models are open. */
export const LEFT_ALONE = 'left alone';

/** Reply of a failed retry. */
export const NO_ANSWER: Said = { text: '', calls: [], reason: 'other', usage: { input: 0, output: 0 }, costUsd: 0 };

/** Calls the model once and streams its text. */
export async function modelStep(models: Asking, plan: TurnPlan, asking: AskedFor): Promise<Said | typeof LEFT_ALONE> {
  const asked = requestOf(plan, asking);
  const said: Said = { text: '', calls: [], reason: 'other', usage: { input: 0, output: 0 }, costUsd: 0 };
  let ended = false;
  try {
    if (plan.tell === undefined) Object.assign(said, await models.complete(asked));
    else await listen(models, asked, { said, asking, tell: plan.tell });
    ended = said.beyond !== true;
    return said;
  } catch (error) {
    if (asking.begun && error instanceof ServiceError && error.details.reason === CIRCUIT_OPEN) return LEFT_ALONE;
    if (asking.followsUp && said.text === '' && !plan.signal.aborted && error instanceof ServiceError) return NO_ANSWER;
    throw error;
  } finally {
    asking.reserved?.settle(ended ? usedBy(said) : leftAt(said, asking.reserved.expected));
  }
}

interface Listening {
  said: Said;
  asking: AskedFor;
  tell: (text: string) => void;
}

/** Publishes the filtered text and stops the stream when the output exceeds the budget. */
async function listen(models: Asking, asked: ModelRequest, { said, asking, tell }: Listening): Promise<void> {
  const most = asking.left * MOST_CHARS_A_TOKEN;
  const end = await models.streamTo(asked, (piece, type) => {
    if (type !== 'text') return true;
    said.text += piece;
    const text = asking.say(piece);
    if (text !== '') tell(text);
    return said.text.length <= most;
  });
  if (end === undefined) cutOff(said);
  else Object.assign(said, end);
}

/** The actual usage is in the end of the stream, which is not awaited. */
function cutOff(said: Said): void {
  said.usage = { input: 0, output: Math.ceil(said.text.length / MOST_CHARS_A_TOKEN) };
  said.beyond = true;
}

function usedBy({ usage, costUsd }: Said): Used {
  return { tokens: usage.input + usage.output, costUsd };
}

/** Usage after a stream without an end: nothing without output, otherwise the expected usage. */
function leftAt({ text }: Said, expected: Used): Used {
  if (text === '') return { tokens: 0, costUsd: 0 };
  return { tokens: Math.max(expected.tokens, tokensOf(text.length)), costUsd: expected.costUsd };
}

function requestOf(plan: TurnPlan, { messages, maxOutputTokens = plan.maxOutputTokens, silent = false }: AskedFor): ModelRequest {
  const choice = silent ? 'none' : plan.tools.use === undefined ? plan.tools.choice : undefined;
  return {
    model: plan.model,
    ...(plan.conversation === undefined ? {} : { conversation: plan.conversation }),
    messages,
    tools: plan.tools.specs,
    ...(choice === undefined ? {} : { toolChoice: choice }),
    ...(plan.stop === undefined ? {} : { stop: plan.stop }),
    ...(plan.format === undefined ? {} : { format: plan.format }),
    signal: plan.signal,
    promptTimeoutMs: plan.promptTimeoutMs,
    traceparent: plan.traceparent,
    ...(plan.system === undefined ? {} : { system: plan.system }),
    ...(plan.temperature === undefined ? {} : { temperature: plan.temperature }),
    ...(maxOutputTokens === undefined ? {} : { maxTokens: maxOutputTokens }),
  };
}
