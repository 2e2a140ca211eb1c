import { setImmediate as nextTick } from 'node:timers/promises';
import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { ServiceError } from '@switchyard/contracts';
import type { StreamingModel } from '../stream-step.ts';
import { readConversation, tokensOf, type Conversation } from './conversation.ts';
import { createStopper } from './stop.ts';

/** What a development model does next: says a token, or calls a tool with arguments given as text. */
export type DevPart = { token: string } | { call: { name: string; input: string } };

/** How it behaves. What it throws before the first part fails the call, later it breaks the stream. */
export type Behaviour = (conversation: Conversation, options: LanguageModelV4CallOptions) => AsyncGenerator<DevPart, void, void>;

/** A language model like any other to the rest of the code, without a network behind it. */
export function createDevModel(modelId: string, behave: Behaviour): StreamingModel {
  return {
    provider: 'dev',
    modelId,
    async doStream(options) {
      if (options.responseFormat?.type === 'json') throw plainTextOnly();
      const conversation = readConversation(options);
      const parts = behave(conversation, options);
      const first = await parts.next();
      const { maxOutputTokens: limit = Infinity, stopSequences: stops = [] } = options;
      return { stream: ReadableStream.from(toStreamParts({ first, parts, conversation, limit, stops })) };
    },
  };
}

export function* say(text: string): Generator<DevPart, void, void> {
  for (const token of tokensOf(text)) yield { token };
}

interface Playing {
  first: IteratorResult<DevPart, void>;
  parts: AsyncGenerator<DevPart, void, void>;
  conversation: Conversation;
  limit: number;
  stops: readonly string[];
}

async function* toStreamParts({
  first,
  parts,
  conversation,
  limit,
  stops,
}: Playing): AsyncGenerator<LanguageModelV4StreamPart, void, void> {
  let outputTokens = 0;
  let calls = 0;
  let raw = 'stop';
  const stopper = createStopper(stops);
  const text = (delta: string): LanguageModelV4StreamPart => ({ type: 'text-delta', id: '0', delta });
  yield { type: 'stream-start', warnings: [] };
  yield { type: 'text-start', id: '0' };
  for (let next = first; next.done !== true; next = await parts.next()) {
    if (outputTokens >= limit) {
      raw = 'length';
      break;
    }
    outputTokens += 1;
    const part = next.value;
    if ('token' in part) {
      // Each token in a tick of its own, as they come from a network: within one tick they would be merged on the way.
      await nextTick();
      yield text(stopper.add(part.token));
      if (stopper.stopped) break;
    } else {
      calls += 1;
      yield text(stopper.rest());
      yield { type: 'tool-call', toolCallId: `call_${conversation.calls + calls}`, toolName: part.call.name, input: part.call.input };
    }
  }
  await parts.return();
  yield text(stopper.rest());
  yield { type: 'text-end', id: '0' };
  if (calls > 0 && raw === 'stop') raw = 'tool_calls';
  yield finishPart(raw, conversation.inputTokens, outputTokens);
}

/** Better no answer than one that is not what was asked for. */
function plainTextOnly(): ServiceError {
  const issue = { path: 'format', expected: 'none', received: 'json', message: 'format: expected none, got json' };
  return new ServiceError('INVALID_ARGUMENT', 'The development models answer in plain text and keep to no format.', {
    details: { reason: 'FORMAT_UNSUPPORTED', issues: [issue] },
  });
}

function finishPart(raw: string, input: number, output: number): LanguageModelV4StreamPart {
  return {
    type: 'finish',
    finishReason: { unified: raw === 'tool_calls' ? 'tool-calls' : raw === 'length' ? 'length' : 'stop', raw },
    usage: {
      inputTokens: { total: input, noCache: input, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: output, text: output, reasoning: undefined },
    },
  };
}
