import { ServiceError } from '@switchyard/contracts';
import { CIRCUIT_OPEN, type ModelAnswer, type ModelMessage, type ModelRequest, type ToolCall } from '@switchyard/models';
import type { Reserved, Used } from '../budgets/budgets.ts';
import { tokensOf } from '../context-window/context-window.ts';
import type { Asking } from '../agents/model-access.ts';
import type { TurnPlan } from './turn-plan.ts';

/** What a model said in one step. */
export type Said = Omit<ModelAnswer, 'reasoning' | 'calls'> & {
  calls: ToolCall[];
  /** It was left in the middle, because it said more than the turn's budget has tokens for. */
  beyond?: true;
};

/** Of a long text no model makes fewer tokens than one of so many characters: what is longer is surely beyond the budget. */
const MOST_CHARS_A_TOKEN = 8;

export interface AskedFor {
  messages: readonly ModelMessage[];
  /** Tokens that the turn may still use. */
  left: number;
  /** What was set aside for this call. */
  reserved: Reserved | undefined;
  /** The turn has done something already. */
  begun: boolean;
  /** Tokens that the answer may have, where that is not what the plan says. */
  maxOutputTokens?: number;
  /** It is to answer, and to call nothing. */
  silent?: boolean;
  /** What of a piece of its text may be told. Nothing where it is the beginning of what may not. */
  say: (piece: string) => string;
  /** It is asked only because it said nothing: where that fails, it says nothing again. */
  followsUp?: boolean;
}

/** Instead of an answer, of a turn that has begun: every model that it may ask kept failing. */
export const LEFT_ALONE = 'left alone';

/** Of a model that could not be asked why it said nothing. */
export const NO_ANSWER: Said = { text: '', calls: [], reason: 'other', usage: { input: 0, output: 0 }, costUsd: 0 };

/** One call of the model, whose text is told as it comes. */
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

/** Tells what may be told of each piece, and leaves the model where it says more than it may. */
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

/** What it really used is said at an end that is not waited for. */
function cutOff(said: Said): void {
  said.usage = { input: 0, output: Math.ceil(said.text.length / MOST_CHARS_A_TOKEN) };
  said.beyond = true;
}

function usedBy({ usage, costUsd }: Said): Used {
  return { tokens: usage.input + usage.output, costUsd };
}

/** What counts as used where the end never came, which would have said it: nothing where nothing was said, else what was expected. */
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
