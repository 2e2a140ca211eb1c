import type { Adapter, Attempt, EmbedAttempt, Ending, Piece } from '../model/adapter.ts';
import { modelNotFound, streamCut } from '../errors/provider-errors.ts';
import type { CatalogueEntry, EmbedAnswer, ModelAnswer, ModelEnd, ModelPart, Say } from '../model/model.ts';
import { toolCall } from '../model/tool-call.ts';
import { priceOf, toUsage } from '../model/usage.ts';

export interface Step {
  provider: string;
  adapter: Adapter;
  attempt: Attempt;
  cost: CatalogueEntry['cost'] | undefined;
}

// Upstreams that give up say so in the finish reason, each in its own word.
const GAVE_UP = new Set(['error', 'abort', 'aborted', 'cancelled', 'canceled', 'interrupted', 'insufficient_system_resource']);

/** What upstreams call the ends that we have a name for. */
const REASONS = new Map<string, ModelAnswer['reason']>([
  ['stop', 'stop'],
  ['length', 'length'],
  ['model_length', 'length'],
  ['content_filter', 'content-filter'],
  ['tool_calls', 'tool-calls'],
  ['function_call', 'tool-calls'],
]);

/** A step that has said something, or has ended. */
export interface BegunStep {
  first: Said;
  next(): Promise<Said>;
  /** To be called in any case, once nothing more is asked for. */
  leave(): Promise<unknown>;
}

/** A piece as it came, or the parts that stand at the end, which is the last that is said. */
export type Said = Piece | readonly ModelPart[];

export function isEnd(said: Said): said is readonly ModelPart[] {
  return Array.isArray(said);
}

/**
 * One attempt at one step, once it has begun to say something. Tool calls are held back until the upstream said that it is done: half a
 * call is none. No generator: each that a piece goes through costs as much as reading it.
 */
export async function beginStep(step: Step): Promise<BegunStep> {
  const { signal, onAlive } = step.attempt;
  let written = 0;
  const pieces = step.adapter.stream(step.attempt);
  const next = async (): Promise<Said> => {
    const { done, value } = await pieces.next();
    onAlive();
    signal.throwIfAborted();
    if (done === true) return partsAtEnd(finish(step, written, value));
    written += value.text.length;
    return value;
  };
  const leave = (): Promise<unknown> => pieces.return(undefined as never);
  try {
    return { first: await next(), next, leave };
  } catch (error) {
    await leave();
    throw error;
  }
}

function partsAtEnd({ calls, ...end }: Finished): readonly ModelPart[] {
  return [...calls.map((call) => ({ type: 'tool-call' as const, call })), { type: 'finish', ...end }];
}

/** After so many pieces in a row the event loop gets its turn, or nothing of them would ever leave. */
const BURST = 256;

/** Tells the rest of a step that has begun; undefined where it is left before its end. */
export async function tellStep(step: BegunStep, say: Say): Promise<ModelEnd | undefined> {
  let burst = 0;
  try {
    let said = step.first;
    for (; !isEnd(said); said = await step.next()) {
      if (!say(said.text, said.type)) return undefined;
      if (++burst % BURST === 0) await nextTurn();
    }
    return endOf(said);
  } finally {
    await step.leave();
  }
}

function endOf(parts: readonly ModelPart[]): ModelEnd {
  const calls = parts.flatMap((part) => (part.type === 'tool-call' ? [part.call] : []));
  const finish = parts.at(-1);
  if (finish?.type !== 'finish') throw new TypeError('an answer ends with its finish');
  const { reason, usage, costUsd } = finish;
  return { calls, reason, usage, costUsd };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** The same, told when it is complete. */
export async function completeStep(step: Step): Promise<ModelAnswer> {
  const { signal } = step.attempt;
  const { text, reasoning, ending } = await step.adapter.whole(step.attempt);
  signal.throwIfAborted();
  const { calls, reason, usage, costUsd } = finish(step, reasoning.length + text.length, ending);
  return { text, reasoning, calls, reason, usage, costUsd };
}

type Finished = Omit<ModelAnswer, 'text' | 'reasoning'>;

/** What is known at the end, `written` characters of text later. */
function finish({ provider, attempt, cost }: Step, written: number, ending: Ending): Finished {
  const { finish: word, calls, usage: counted } = ending;
  if (word === undefined || GAVE_UP.has(word)) throw streamCut(provider);
  const { system, messages } = attempt.request;
  const output = calls.reduce((sum, { text }) => sum + text.length, written);
  const usage = toUsage(counted, { input: () => JSON.stringify([system, messages]).length, output });
  return {
    calls: calls.map(({ callId, name, text }) => toolCall(callId, name, text)),
    reason: reasonOf(word, calls.length),
    usage,
    costUsd: counted.costUsd ?? priceOf(usage, cost),
  };
}

function reasonOf(finish: string, calls: number): ModelAnswer['reason'] {
  const reason = REASONS.get(finish) ?? 'other';
  // Several servers say `stop` beside tool calls; what the caller must do is what counts.
  return calls > 0 && (reason === 'stop' || reason === 'other') ? 'tool-calls' : reason;
}

export interface EmbedStep {
  provider: string;
  adapter: Adapter;
  attempt: EmbedAttempt;
  cost: CatalogueEntry['cost'] | undefined;
}

/** One attempt at turning texts into vectors. */
export async function embedStep({ provider, adapter, attempt, cost }: EmbedStep): Promise<EmbedAnswer> {
  if (adapter.embed === undefined) throw modelNotFound(`provider ${provider} has no models that make vectors`);
  const { request, signal } = attempt;
  const { vectors, model, tokens } = await adapter.embed(attempt);
  signal.throwIfAborted();
  const chars = (): number => request.input.reduce((sum, text) => sum + text.length, 0);
  const usage = toUsage({ ...(tokens === undefined ? {} : { input: tokens }), output: 0 }, { input: chars, output: 0 });
  return { vectors, model: model ?? request.model.modelId, tokens: usage.input, costUsd: priceOf(usage, cost) };
}
