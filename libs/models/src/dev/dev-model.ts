import { setImmediate as nextTick } from 'node:timers/promises';
import { ServiceError } from '@switchyard/contracts';
import { streamingAdapter, type Adapter, type Attempt, type Ending, type Piece } from '../adapter.ts';
import { connectionLost, streamCut } from '../failure.ts';
import { readConversation, tokensOf, type Conversation } from './conversation.ts';
import { createStopper } from './stop.ts';

/** What a development model does next: says a token, or calls a tool with arguments given as text. */
export type DevPart = { token: string } | { call: { name: string; input: string } };

/** How it behaves. What it throws before the first part fails the call, later it breaks the stream. */
export type Behaviour = (conversation: Conversation, attempt: Attempt) => AsyncGenerator<DevPart, void, void>;

/** After so many tokens that nobody reads as they come, everybody else gets a turn. */
const BURST = 256;

/** A model like any other to the rest of the code, without a network behind it. */
export function createDevModel(behave: Behaviour): Adapter {
  return streamingAdapter((attempt) => {
    if (attempt.request.format !== undefined) throw plainTextOnly();
    return play(attempt, behave);
  });
}

export function* say(text: string): Generator<DevPart, void, void> {
  for (const token of tokensOf(text)) yield { token };
}

async function* play(attempt: Attempt, behave: Behaviour): AsyncGenerator<Piece, Ending, void> {
  const { whole } = attempt;
  const { maxTokens: limit = Infinity, stop = [] } = attempt.request;
  const conversation = readConversation(attempt.request);
  const stopper = createStopper(stop);
  const calls: { callId: string; name: string; text: string }[] = [];
  let output = 0;
  let finish = 'stop';
  const parts = behave(conversation, attempt);
  try {
    for await (const part of parts) {
      if (output >= limit) {
        finish = 'length';
        break;
      }
      output += 1;
      if ('token' in part) {
        // Each token in a tick of its own, as they come from a network: within one tick they would be merged on the way.
        if (!whole || output % BURST === 0) await nextTick();
        yield* text(stopper.add(part.token));
        if (stopper.stopped) break;
      } else {
        yield* text(stopper.rest());
        calls.push({ callId: `call_${conversation.calls + calls.length + 1}`, name: part.call.name, text: part.call.input });
      }
    }
  } catch (error) {
    throw output > 0 && connectionLost(error) ? streamCut('dev') : error;
  }
  yield* text(stopper.rest());
  if (calls.length > 0 && finish === 'stop') finish = 'tool_calls';
  return { finish, calls, usage: { input: conversation.inputTokens, output } };
}

function* text(said: string): Generator<Piece, void, void> {
  if (said !== '') yield { type: 'text', text: said };
}

/** Better no answer than one that is not what was asked for. */
function plainTextOnly(): ServiceError {
  const issue = { path: 'format', expected: 'none', received: 'json', message: 'format: expected none, got json' };
  return new ServiceError('INVALID_ARGUMENT', 'The development models answer in plain text and keep to no format.', {
    details: { reason: 'FORMAT_UNSUPPORTED', issues: [issue] },
  });
}
