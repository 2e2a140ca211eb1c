import { ServiceError } from '@switchyard/contracts';
import type { Adapter, Attempt, EmbedAttempt, Ending, Delta } from '../model/adapter.ts';
import { modelNotFound, streamCut } from '../errors/provider-errors.ts';
import type { CatalogueEntry, EmbedAnswer, ModelAnswer, ModelEnd, ModelPart, OnDelta } from '../model/model.ts';
import { toolCall } from '../model/tool-call.ts';
import { calculateCost, CHARS_PER_TOKEN, toUsage } from '../model/usage.ts';

export interface Step {
  provider: string;
  adapter: Adapter;
  attempt: Attempt;
  cost: CatalogueEntry['cost'] | undefined;
}

// Finish reasons of providers that aborted the response.
const ABORTED_REASONS = new Set(['error', 'abort', 'aborted', 'cancelled', 'canceled', 'interrupted', 'insufficient_system_resource']);

/** Maps finish reasons of providers to ours. */
const REASONS = new Map<string, ModelAnswer['reason']>([
  ['stop', 'stop'],
  ['length', 'length'],
  ['model_length', 'length'],
  ['content_filter', 'content-filter'],
  ['tool_calls', 'tool-calls'],
  ['function_call', 'tool-calls'],
]);

/** A step with at least one received item. */
export interface StartedStep {
  first: StepItem;
  next(): Promise<StepItem>;
  /** Releases the request. Must always be called. */
  leave(): Promise<unknown>;
}

/** A delta, or the final parts, which are the last item. */
export type StepItem = Delta | readonly ModelPart[];

export function isEnd(item: StepItem): item is readonly ModelPart[] {
  return Array.isArray(item);
}

/**
 * Starts a step and waits for the first item. Tool calls are held back until the response is complete. Not a generator, because each
 * generator layer costs as much as reading the delta.
 */
export async function beginStep(step: Step): Promise<StartedStep> {
  const { signal, onAlive } = step.attempt;
  let outputChars = 0;
  const deltas = step.adapter.stream(step.attempt);
  const next = async (): Promise<StepItem> => {
    const { done, value } = await deltas.next();
    onAlive();
    signal.throwIfAborted();
    if (done === true) return buildEndParts(finish(step, outputChars, value));
    outputChars += value.text.length;
    return value;
  };
  const leave = (): Promise<unknown> => deltas.return(undefined as never);
  try {
    return { first: await next(), next, leave };
  } catch (error) {
    await leave();
    throw error;
  }
}

function buildEndParts({ calls, ...end }: StepResult): readonly ModelPart[] {
  return [...calls.map((call) => ({ type: 'tool-call' as const, call })), { type: 'finish', ...end }];
}

/** Deltas processed before the event loop gets a turn, so that buffered output is sent. */
const DELTAS_PER_TICK = 256;

/** Passes the deltas of a started step to a callback. Returns undefined if the callback stopped it. */
export async function streamStep(step: StartedStep, onDelta: OnDelta): Promise<ModelEnd | undefined> {
  let count = 0;
  try {
    let item = step.first;
    for (; !isEnd(item); item = await step.next()) {
      if (!onDelta(item.text, item.type)) return undefined;
      if (++count % DELTAS_PER_TICK === 0) await nextTurn();
    }
    return extractEnd(item);
  } finally {
    await step.leave();
  }
}

function extractEnd(parts: readonly ModelPart[]): ModelEnd {
  const calls = parts.flatMap((part) => (part.type === 'tool-call' ? [part.call] : []));
  const buildResult = parts.at(-1);
  if (buildResult?.type !== 'finish') throw new TypeError('a response must end with a finish part');
  const { type: _, ...end } = buildResult;
  return { calls, ...end };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Requests a complete step. */
export async function completeStep(step: Step): Promise<ModelAnswer> {
  const { signal } = step.attempt;
  const { text, reasoning, ending } = await step.adapter.complete(step.attempt);
  signal.throwIfAborted();
  return { text, reasoning, ...finish(step, reasoning.length + text.length, ending) };
}

type StepResult = Omit<ModelAnswer, 'text' | 'reasoning'>;

/** Builds the result of a step. `outputChars` is used to estimate missing token counts. */
function finish({ provider, attempt, cost }: Step, outputChars: number, ending: Ending): StepResult {
  const { finish: finishReason, calls, usage: counted, fields } = ending;
  if (finishReason === undefined || ABORTED_REASONS.has(finishReason)) throw streamCut(provider);
  const { system, messages } = attempt.request;
  const output = calls.reduce((sum, { text }) => sum + text.length, outputChars);
  const usage = toUsage(counted, { input: () => JSON.stringify([system, messages], withoutImages).length, output });
  const hasFields = fields !== undefined || calls.some((call) => call.fields !== undefined);
  return {
    calls: calls.map(({ callId, name, text, fields: callFields }) => toolCall(callId, name, text, callFields)),
    reason: normalizeReason(finishReason, calls.length),
    usage,
    costUsd: counted.costUsd ?? calculateCost(usage, cost),
    ...(counted.input === undefined || counted.output === undefined ? { usageEstimated: true as const } : {}),
    ...(hasFields ? { providerFields: { provider, fields: fields ?? {} } } : {}),
  };
}

/** Leaves the images of messages out, whose bytes are no text. */
function withoutImages(key: string, value: unknown): unknown {
  return key === 'images' ? undefined : value;
}

function normalizeReason(finish: string, calls: number): ModelAnswer['reason'] {
  const reason = REASONS.get(finish) ?? 'other';
  // Some servers send `stop` together with tool calls.
  return calls > 0 && (reason === 'stop' || reason === 'other') ? 'tool-calls' : reason;
}

export interface EmbedStep {
  provider: string;
  adapter: Adapter;
  attempt: EmbedAttempt;
  cost: CatalogueEntry['cost'] | undefined;
}

/** Runs one attempt of an embeddings call. */
export async function embedStep({ provider, adapter, attempt, cost }: EmbedStep): Promise<EmbedAnswer> {
  if (adapter.embed === undefined) throw modelNotFound(`provider ${provider} has no embedding models`);
  const { request, signal } = attempt;
  if (adapter.embedsTextOnly && request.input.some((entry) => typeof entry !== 'string')) throw createTextOnlyError(provider);
  const { vectors, model, tokens } = await adapter.embed(attempt);
  signal.throwIfAborted();
  const chars = (): number => request.input.reduce((sum, entry) => sum + countChars(entry), 0);
  const usage = toUsage({ ...(tokens === undefined ? {} : { input: tokens }), output: 0 }, { input: chars, output: 0 });
  return { vectors, model: model ?? request.model.modelId, tokens: usage.input, costUsd: calculateCost(usage, cost) };
}

function createTextOnlyError(provider: string): ServiceError {
  const message = `input: expected texts, got token ids: provider ${provider} accepts texts only`;
  const issue = { path: 'input', expected: 'texts', received: 'token ids', message };
  return new ServiceError('INVALID_ARGUMENT', `Invalid request: ${message}`, { details: { issues: [issue] } });
}

/** Characters of a text. A token counts as four. */
function countChars(entry: string | readonly number[]): number {
  return typeof entry === 'string' ? entry.length : entry.length * CHARS_PER_TOKEN;
}
