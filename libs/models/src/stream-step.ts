import type { Adapter, Attempt, Ending, Piece } from './adapter.ts';
import { streamCut } from './failure.ts';
import type { CatalogueEntry, ModelPart } from './model.ts';
import { toolCall } from './tool-call.ts';
import { priceOf, toUsage } from './usage.ts';

export interface Step {
  provider: string;
  adapter: Adapter;
  attempt: Attempt;
  cost: CatalogueEntry['cost'] | undefined;
}

type Finish = Extract<ModelPart, { type: 'finish' }>;

// Upstreams that give up say so in the finish reason, each in its own word.
const GAVE_UP = new Set(['error', 'abort', 'aborted', 'cancelled', 'canceled', 'interrupted', 'insufficient_system_resource']);

/** What upstreams call the ends that we have a name for. */
const REASONS = new Map<string, Finish['reason']>([
  ['stop', 'stop'],
  ['length', 'length'],
  ['model_length', 'length'],
  ['content_filter', 'content-filter'],
  ['tool_calls', 'tool-calls'],
  ['function_call', 'tool-calls'],
]);

/** One attempt at one step. Tool calls are held back until the upstream said that it is done: half a call is none. */
export async function* streamStep(step: Step): AsyncGenerator<ModelPart, void, void> {
  const { signal, onAlive, request } = step.attempt;
  const said: Said = { reasoning: '', text: '' };
  let written = 0;
  const pieces = step.adapter(step.attempt);
  try {
    for (;;) {
      const next = await pieces.next();
      onAlive();
      signal.throwIfAborted();
      if (next.done === true) return yield* finish(step, { said, written, ending: next.value });
      const piece = next.value;
      written += piece.text.length;
      // Where nobody reads along, all text is one part.
      if (request.whole === true) said[piece.type] += piece.text;
      else yield piece;
    }
  } finally {
    await pieces.return(undefined as never);
  }
}

type Said = Record<Piece['type'], string>;

interface Finished {
  /** What was not yielded yet. */
  said: Said;
  /** Characters of all that was written. */
  written: number;
  ending: Ending;
}

function* finish({ provider, attempt, cost }: Step, { said, written, ending }: Finished): Generator<ModelPart, void, void> {
  const { finish: word, calls, usage: counted } = ending;
  if (word === undefined || GAVE_UP.has(word)) throw streamCut(provider);
  for (const type of ['reasoning', 'text'] as const) if (said[type] !== '') yield { type, text: said[type] };
  for (const { callId, name, text } of calls) yield { type: 'tool-call', call: toolCall(callId, name, text) };
  const { system, messages } = attempt.request;
  const output = calls.reduce((sum, { text }) => sum + text.length, written);
  const usage = toUsage(counted, { input: () => JSON.stringify([system, messages]).length, output });
  yield { type: 'finish', reason: reasonOf(word, calls.length), usage, costUsd: counted.costUsd ?? priceOf(usage, cost) };
}

function reasonOf(finish: string, calls: number): Finish['reason'] {
  const reason = REASONS.get(finish) ?? 'other';
  // Several servers say `stop` beside tool calls; what the caller must do is what counts.
  return calls > 0 && (reason === 'stop' || reason === 'other') ? 'tool-calls' : reason;
}
