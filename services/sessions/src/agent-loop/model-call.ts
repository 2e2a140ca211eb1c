import { ServiceError } from '@switchyard/contracts';
import { CIRCUIT_OPEN, type ModelAnswer, type ModelMessage, type ModelRequest, type ToolCall } from '@switchyard/models';
import type { Reserved, Used } from '../budgets/budgets.ts';
import { toTokens } from '../context-window/context-window.ts';
import type { ModelAccess } from '../agents/model-access.ts';
import type { TurnPlan } from './turn-plan.ts';

/** What a model said in one step. */
export type ModelReply = Omit<ModelAnswer, 'reasoning' | 'calls'> & {
  calls: ToolCall[];
  /** It was left in the middle, because it said more than the turn's budget has tokens for. */
  overBudget?: true;
};

/** Of a long text no model makes fewer tokens than one of so many characters: what is longer is surely beyond the budget. */
const MAX_CHARS_PER_TOKEN = 8;

export interface ModelCallOptions {
  messages: readonly ModelMessage[];
  /** Tokens that the turn may still use. */
  remainingTokens: number;
  /** What was set aside for this call. */
  reserved: Reserved | undefined;
  /** The turn has done something already. */
  started: boolean;
  /** Tokens that the answer may have, where that is not what the plan says. */
  maxOutputTokens?: number;
  /** It is to answer, and to call nothing. */
  toolsDisabled?: boolean;
  /** What of a piece of its text may be told. Nothing where it is the beginning of what may not. */
  filterText: (piece: string) => string;
  /** It is asked only because it said nothing: where that fails, it says nothing again. */
  isRetry?: boolean;
}

/** Instead of an answer, of a turn that has begun: every model that it may ask kept failing. */
export const CIRCUIT_IS_OPEN = 'left alone';

/** Of a model that could not be asked why it said nothing. */
export const EMPTY_REPLY: ModelReply = { text: '', calls: [], reason: 'other', usage: { input: 0, output: 0 }, costUsd: 0 };

/** One call of the model, whose text is told as it comes. */
export async function callModel(
  models: ModelAccess,
  plan: TurnPlan,
  asking: ModelCallOptions,
): Promise<ModelReply | typeof CIRCUIT_IS_OPEN> {
  const asked = buildRequest(plan, asking);
  const said: ModelReply = { text: '', calls: [], reason: 'other', usage: { input: 0, output: 0 }, costUsd: 0 };
  let ended = false;
  try {
    if (plan.onText === undefined) Object.assign(said, await models.complete(asked));
    else await streamReply(models, asked, { said, asking, onText: plan.onText });
    ended = said.overBudget !== true;
    return said;
  } catch (error) {
    if (asking.started && error instanceof ServiceError && error.details.reason === CIRCUIT_OPEN) return CIRCUIT_IS_OPEN;
    if (asking.isRetry && said.text === '' && !plan.signal.aborted && error instanceof ServiceError) return EMPTY_REPLY;
    throw error;
  } finally {
    asking.reserved?.settle(ended ? actualUsage(said) : estimateUsage(said, asking.reserved.expected));
  }
}

interface StreamOptions {
  said: ModelReply;
  asking: ModelCallOptions;
  onText: (text: string) => void;
}

/** Tells what may be told of each piece, and leaves the model where it says more than it may. */
async function streamReply(models: ModelAccess, asked: ModelRequest, { said, asking, onText }: StreamOptions): Promise<void> {
  const most = asking.remainingTokens * MAX_CHARS_PER_TOKEN;
  const end = await models.tell(asked, (piece, type) => {
    if (type !== 'text') return true;
    said.text += piece;
    const text = asking.filterText(piece);
    if (text !== '') onText(text);
    return said.text.length <= most;
  });
  if (end === undefined) truncateReply(said);
  else Object.assign(said, end);
}

/** What it really used is said at an end that is not waited for. */
function truncateReply(said: ModelReply): void {
  said.usage = { input: 0, output: Math.ceil(said.text.length / MAX_CHARS_PER_TOKEN) };
  said.overBudget = true;
}

function actualUsage({ usage, costUsd }: ModelReply): Used {
  return { tokens: usage.input + usage.output, costUsd };
}

/** What counts as used where the end never came, which would have said it: nothing where nothing was said, else what was expected. */
function estimateUsage({ text }: ModelReply, expected: Used): Used {
  if (text === '') return { tokens: 0, costUsd: 0 };
  return { tokens: Math.max(expected.tokens, toTokens(text.length)), costUsd: expected.costUsd };
}

function buildRequest(
  plan: TurnPlan,
  { messages, maxOutputTokens = plan.maxOutputTokens, toolsDisabled = false }: ModelCallOptions,
): ModelRequest {
  const choice = toolsDisabled ? 'none' : plan.tools.use === undefined ? plan.tools.choice : undefined;
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
