import { setImmediate as nextTick } from 'node:timers/promises';
import { ServiceError } from '@switchyard/contracts';
import { streamingAdapter, type Adapter, type Attempt, type Ending, type Delta } from '../model/adapter.ts';
import { isConnectionError, streamCut } from '../errors/provider-errors.ts';
import { readConversation, splitTokens, type Conversation } from './conversation.ts';
import { createStopper } from './stop-sequences.ts';

/** One output of a development model: a token or a tool call with its arguments as text. */
export type DevPart = { token: string } | { call: { name: string; input: string } };

type Parts = Generator<DevPart, void, void> | AsyncGenerator<DevPart, void, void>;

/** The behaviour of a development model. An error before the first part fails the call; a later one breaks the stream. */
export type Behaviour = (conversation: Conversation, attempt: Attempt) => Parts;

/** Tokens of a non-streaming response before the event loop gets a turn. */
const TOKENS_PER_TICK = 256;

/** Creates a model without a network. */
export function createDevModel(behave: Behaviour): Adapter {
  return streamingAdapter((attempt) => {
    if (attempt.request.format !== undefined) throw formatUnsupportedError();
    return play(attempt, behave);
  });
}

export function* createTokens(text: string): Generator<DevPart, void, void> {
  for (const token of splitTokens(text)) yield { token };
}

async function* play(attempt: Attempt, behave: Behaviour): AsyncGenerator<Delta, Ending, void> {
  const { nonStreaming } = attempt;
  const { maxTokens: limit = Infinity, stop = [] } = attempt.request;
  const conversation = readConversation(attempt.request);
  const stopper = createStopper(stop);
  const calls: { callId: string; name: string; text: string }[] = [];
  let output = 0;
  let finish = 'stop';
  const parts = behave(conversation, attempt);
  // `for await` and `yield*` would create promises without need. Benchmarks of turns use this model.
  try {
    for (;;) {
      const next = parts.next();
      const { done, value: part } = next instanceof Promise ? await next : next;
      if (done) break;
      if (output >= limit) {
        finish = 'length';
        break;
      }
      output += 1;
      if ('token' in part) {
        // One token per tick, as from a network. Tokens of one tick would be merged.
        if (!nonStreaming || output % TOKENS_PER_TICK === 0) await nextTick();
        const released = stopper.add(part.token);
        if (released !== '') yield createDelta(released);
        if (stopper.stopped) break;
      } else {
        const rest = stopper.rest();
        if (rest !== '') yield createDelta(rest);
        calls.push({ callId: `call_${conversation.calls + calls.length + 1}`, name: part.call.name, text: part.call.input });
      }
    }
  } catch (error) {
    throw output > 0 && isConnectionError(error) ? streamCut('dev') : error;
  } finally {
    await parts.return(undefined);
  }
  const rest = stopper.rest();
  if (rest !== '') yield createDelta(rest);
  if (calls.length > 0 && finish === 'stop') finish = 'tool_calls';
  return { finish, calls, usage: { input: conversation.inputTokens, output } };
}

function createDelta(text: string): Delta {
  return { type: 'text', text };
}

/** Creates the error for a requested output format. */
function formatUnsupportedError(): ServiceError {
  const issue = { path: 'format', expected: 'none', received: 'json', message: 'format: expected none, got json' };
  return new ServiceError('INVALID_ARGUMENT', 'The development models support plain text only.', {
    details: { reason: 'FORMAT_UNSUPPORTED', issues: [issue] },
  });
}
