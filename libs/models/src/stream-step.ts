import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4FinishReason, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { badResponse, connectionLost, frameError, streamCut } from './failure.ts';
import type { CatalogueEntry, ModelPart, ToolCall } from './model.ts';
import { toolCall } from './tool-call.ts';
import { costUsd, toUsage } from './usage.ts';

/** All that we ask of a provider's model. */
export type StreamingModel = Pick<LanguageModelV4, 'provider' | 'modelId' | 'doStream'>;

export interface Step {
  provider: string;
  model: StreamingModel;
  options: LanguageModelV4CallOptions;
  cost: CatalogueEntry['cost'] | undefined;
  /** Called for everything that arrives, shown or not. */
  onAlive: () => void;
}

type Finish = Extract<LanguageModelV4StreamPart, { type: 'finish' }>;

// Upstreams that give up say so in the finish reason, each in its own word.
const GAVE_UP = new Set(['error', 'abort', 'aborted', 'cancelled', 'canceled', 'interrupted']);

/** One attempt at one step. Tool calls are held back until the upstream said that it is done: half a call is none. */
export async function* streamStep({ provider, model, options, cost, onAlive }: Step): AsyncGenerator<ModelPart, void, void> {
  const { stream, response } = await model.doStream(options);
  onAlive();
  refuseUnstreamed(provider, response?.headers?.['content-type']);
  const calls: ToolCall[] = [];
  let finish: Finish | undefined;
  let outputChars = 0;
  for await (const part of whole(stream, provider)) {
    onAlive();
    options.abortSignal?.throwIfAborted();
    if (part.type === 'text-delta' && part.delta !== '') {
      outputChars += part.delta.length;
      yield { type: 'text', text: part.delta };
    } else if (part.type === 'tool-call') {
      outputChars += part.input.length;
      calls.push(toolCall(part.toolCallId, part.toolName, part.input));
    } else if (part.type === 'finish') {
      finish = part;
    }
  }
  if (finish === undefined || gaveUp(finish.finishReason)) throw streamCut(provider);
  for (const call of calls) yield { type: 'tool-call', call };
  const usage = toUsage(finish.usage, { input: () => JSON.stringify(options.prompt).length, output: outputChars });
  yield { type: 'finish', reason: reasonOf(finish.finishReason, calls.length), usage, costUsd: costUsd(usage, cost) };
}

/** The parts of a stream; whatever ends it early is thrown, under one name whether the socket or the text broke off. */
async function* whole(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  provider: string,
): AsyncGenerator<LanguageModelV4StreamPart, void, void> {
  try {
    for await (const part of stream) {
      if (part.type === 'error') throw isMissingFinish(part.error) ? streamCut(provider) : frameError(part.error);
      yield part;
    }
  } catch (error) {
    throw connectionLost(error) ? streamCut(provider) : error;
  }
}

/** A JSON or HTML answer to a streaming request has no events in it, and would look like a cut. */
function refuseUnstreamed(provider: string, contentType = ''): void {
  if (/^(application\/json|text\/html)\b/i.test(contentType)) throw badResponse(provider, `does not stream: it answered ${contentType}`);
}

/** How the adapter reports a stream that ended cleanly, but too early. */
function isMissingFinish(error: unknown): boolean {
  return error instanceof Error && error.name === 'AI_InvalidResponseDataError' && error.message.includes('without a finish reason');
}

function gaveUp({ unified, raw }: LanguageModelV4FinishReason): boolean {
  return raw === undefined || unified === 'error' || unified === 'interrupted' || GAVE_UP.has(raw);
}

type Reason = Extract<ModelPart, { type: 'finish' }>['reason'];

function reasonOf({ unified }: LanguageModelV4FinishReason, calls: number): Reason {
  // Several servers say `stop` beside tool calls; what the caller must do is what counts.
  if (calls > 0 && (unified === 'stop' || unified === 'other')) return 'tool-calls';
  return unified === 'error' || unified === 'interrupted' ? 'other' : unified;
}
