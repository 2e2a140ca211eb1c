import { ServiceError } from '@switchyard/contracts';
import { CIRCUIT_OPEN, type ModelAnswer, type ModelMessage, type ModelRequest, type ToolCall } from '@switchyard/models';
import type { Reserved, Used } from '../budgets/budgets.ts';
import { toTokens } from '../context-window/context-window.ts';
import type { ModelAccess } from '../agents/model-access.ts';
import type { TurnPlan } from './turn-plan.ts';

/** Model output of one step. */
export type ModelReply = Omit<ModelAnswer, 'reasoning' | 'calls'> & {
  calls: ToolCall[];
  /** Streaming was stopped because the output exceeded the token budget of the turn. */
  overBudget?: true;
};

/** Upper bound of characters per token. Longer output certainly exceeds the token budget. */
const MAX_CHARS_PER_TOKEN = 8;

export interface ModelCallOptions {
  messages: readonly ModelMessage[];
  /** Remaining tokens of the turn. */
  remainingTokens: number;
  /** Budget reserved for this call. */
  reserved: Reserved | undefined;
  /** The turn has made steps or streamed text. */
  started: boolean;
  /** Output limit, if it differs from the plan. */
  maxOutputTokens?: number;
  /** The model must answer without calling tools. */
  toolsDisabled?: boolean;
  /** Returns the part of a text piece that may be published. Empty while a filtered sequence may be starting. */
  filterText: (piece: string) => string;
  /** The call retries an empty reply. If it fails, the empty reply stands. */
  isRetry?: boolean;
}

/** Returned by a started turn when the circuit breakers of all allowed models are open. */
export const CIRCUIT_IS_OPEN = 'left alone';

/** Reply of a failed retry. */
export const EMPTY_REPLY: ModelReply = { text: '', calls: [], reason: 'other', usage: { input: 0, output: 0 }, costUsd: 0 };

/** Calls the model once and streams its text. */
export async function callModel(
  models: ModelAccess,
  plan: TurnPlan,
  options: ModelCallOptions,
): Promise<ModelReply | typeof CIRCUIT_IS_OPEN> {
  const request = buildRequest(plan, options);
  const content: ModelReply = { text: '', calls: [], reason: 'other', usage: { input: 0, output: 0 }, costUsd: 0 };
  let ended = false;
  let sent = true;
  try {
    if (plan.onText === undefined) Object.assign(content, await models.complete(request));
    else await streamReply(models, request, { message: content, options, onText: plan.onText });
    ended = content.overBudget !== true;
    return content;
  } catch (error) {
    sent = !(error instanceof ServiceError && error.details.reason === CIRCUIT_OPEN);
    if (options.started && !sent) return CIRCUIT_IS_OPEN;
    if (options.isRetry && content.text === '' && !plan.signal.aborted && error instanceof ServiceError) return EMPTY_REPLY;
    throw error;
  } finally {
    if (sent) plan.onModelCall?.(plan.model, ended && content.usageEstimated !== true ? content : undefined);
    options.reserved?.settle(ended ? actualUsage(content) : estimateUsage(content, options.reserved.expected));
  }
}

interface StreamOptions {
  message: ModelReply;
  options: ModelCallOptions;
  onText: (text: string) => void;
}

/** Publishes the filtered text and stops the stream when the output exceeds the budget. */
async function streamReply(models: ModelAccess, request: ModelRequest, { message, options, onText }: StreamOptions): Promise<void> {
  const max = options.remainingTokens * MAX_CHARS_PER_TOKEN;
  const end = await models.streamTo(request, (piece, type) => {
    if (type !== 'text') return true;
    message.text += piece;
    const text = options.filterText(piece);
    if (text !== '') onText(text);
    return message.text.length <= max;
  });
  if (end === undefined) truncateReply(message);
  else Object.assign(message, end);
}

/** The actual usage is in the end of the stream, which is not awaited. */
function truncateReply(content: ModelReply): void {
  content.usage = { input: 0, output: Math.ceil(content.text.length / MAX_CHARS_PER_TOKEN) };
  content.overBudget = true;
}

function actualUsage({ usage, costUsd }: ModelReply): Used {
  return { tokens: usage.input + usage.output, costUsd };
}

/** Usage after a stream without an end: nothing without output, otherwise the expected usage. */
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
