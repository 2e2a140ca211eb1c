import { setImmediate as nextTick } from 'node:timers/promises';
import { ServiceError } from '@switchyard/contracts';
import { streamingAdapter, type Adapter, type Attempt, type Ending, type Piece } from '../model/adapter.ts';
import { connectionLost, streamCut } from '../errors/provider-errors.ts';
import { readConversation, tokensOf, type Conversation } from './conversation.ts';
import { createStopper } from './stop-sequences.ts';

/** What a development model does next: says a token, or calls a tool with arguments given as text. */
export type DevPart = { token: string } | { call: { name: string; input: string } };

type Parts = Generator<DevPart, void, void> | AsyncGenerator<DevPart, void, void>;

/** How it behaves. What it throws before the first part fails the call, later it breaks the stream. */
export type Behaviour = (conversation: Conversation, attempt: Attempt) => Parts;

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
  // No `for await` and no `yield*`: both make promises where nothing waits, and every measurement of a turn asks this model.
  try {
    for (;;) {
      const given = parts.next();
      const { done, value: part } = given instanceof Promise ? await given : given;
      if (done) break;
      if (output >= limit) {
        finish = 'length';
        break;
      }
      output += 1;
      if ('token' in part) {
        // Each token in a tick of its own, as they come from a network: within one tick they would be merged on the way.
        if (!whole || output % BURST === 0) await nextTick();
        const said = stopper.add(part.token);
        if (said !== '') yield textOf(said);
        if (stopper.stopped) break;
      } else {
        const held = stopper.rest();
        if (held !== '') yield textOf(held);
        calls.push({ callId: `call_${conversation.calls + calls.length + 1}`, name: part.call.name, text: part.call.input });
      }
    }
  } catch (error) {
    throw output > 0 && connectionLost(error) ? streamCut('dev') : error;
  } finally {
    await parts.return(undefined);
  }
  const held = stopper.rest();
  if (held !== '') yield textOf(held);
  if (calls.length > 0 && finish === 'stop') finish = 'tool_calls';
  return { finish, calls, usage: { input: conversation.inputTokens, output } };
}

function textOf(text: string): Piece {
  return { type: 'text', text };
}

/** Better no answer than one that is not what was asked for. */
function plainTextOnly(): ServiceError {
  const issue = { path: 'format', expected: 'none', received: 'json', message: 'format: expected none, got json' };
  return new ServiceError('INVALID_ARGUMENT', 'The development models answer in plain text and keep to no format.', {
    details: { reason: 'FORMAT_UNSUPPORTED', issues: [issue] },
  });
}
