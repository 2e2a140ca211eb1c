import type { Adapter, Attempt, Ending } from './adapter.ts';
import { streamCut } from './failure.ts';
import type { CatalogueEntry, ModelAnswer, ModelPart } from './model.ts';
import { toolCall } from './tool-call.ts';
import { priceOf, toUsage } from './usage.ts';

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

/** One attempt at one step. Tool calls are held back until the upstream said that it is done: half a call is none. */
export async function* streamStep(step: Step): AsyncGenerator<ModelPart, void, void> {
  const { signal, onAlive } = step.attempt;
  let written = 0;
  const pieces = step.adapter.stream(step.attempt);
  try {
    for (;;) {
      const next = await pieces.next();
      onAlive();
      signal.throwIfAborted();
      if (next.done === true) {
        const { calls, ...end } = finish(step, written, next.value);
        for (const call of calls) yield { type: 'tool-call', call };
        return yield { type: 'finish', ...end };
      }
      written += next.value.text.length;
      yield next.value;
    }
  } finally {
    await pieces.return(undefined as never);
  }
}

/** The same, told when it is complete. */
export async function completeStep(step: Step): Promise<ModelAnswer> {
  const { signal } = step.attempt;
  const { text, reasoning, ending } = await step.adapter.whole(step.attempt);
  signal.throwIfAborted();
  const { calls, reason, usage, costUsd } = finish(step, reasoning.length + text.length, ending);
  return { text, reasoning, calls, reason, usage, costUsd };
}

/** What is known at the end, `written` characters of text later. */
function finish({ provider, attempt, cost }: Step, written: number, ending: Ending): Omit<ModelAnswer, 'text' | 'reasoning'> {
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
