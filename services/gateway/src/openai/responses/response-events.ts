import type { CallerToolCall } from '@switchyard/contracts';
import {
  callId,
  callItem,
  messageId,
  messageItem,
  responseResource,
  textPart,
  type ResponseHead,
  type ResponseOutcome,
} from './response-resource.ts';

/**
 * Encodes the events of one response. They are numbered from 0 without gaps, and a response that is streamed again in the same pieces
 * has the same numbers, so a client can resume after its last event.
 */
export interface ResponseEvents {
  begin(): string[];
  say(text: string): string[];
  /** The response has ended: nothing follows. */
  end(outcome: ResponseOutcome): string[];
  /** Ends the stream with an error because it cannot be followed further. The response may continue. */
  lose(error: { code: string; message: string }): string[];
  /** All text that was said. */
  readonly text: string;
}

const CONTENT = { output_index: 0, content_index: 0 };
const LAST = { completed: 'completed', incomplete: 'incomplete', cancelled: 'incomplete', failed: 'failed', in_progress: 'in_progress' };

export function responseEvents(head: ResponseHead, after = -1): ResponseEvents {
  const { turnId } = head;
  const item_id = messageId(turnId);
  let next = 0;
  let text = '';
  let speaking = false;

  const event = (type: string, more: object): string[] => {
    const sequence_number = next++;
    if (sequence_number <= after) return [];
    return [`event: ${type}\ndata: ${JSON.stringify({ type, sequence_number, ...more })}\n\n`];
  };
  const whole = (type: string, outcome: ResponseOutcome): string[] => event(type, { response: responseResource(head, outcome) });
  /** A client that resumes after a number above the known events still receives the end. */
  const last = (): void => void (next = Math.max(next, after + 1));

  function* open(): Generator<string> {
    if (speaking) return;
    speaking = true;
    yield* event('response.output_item.added', { output_index: 0, item: messageItem(turnId, 'in_progress') });
    yield* event('response.content_part.added', { item_id, ...CONTENT, part: textPart('') });
  }

  function* say(more: string): Generator<string> {
    if (more === '') return;
    yield* open();
    text += more;
    yield* event('response.output_text.delta', { item_id, ...CONTENT, delta: more, logprobs: [] });
  }

  function* close(status: 'completed' | 'incomplete'): Generator<string> {
    yield* event('response.output_text.done', { item_id, ...CONTENT, text, logprobs: [] });
    yield* event('response.content_part.done', { item_id, ...CONTENT, part: textPart(text) });
    yield* event('response.output_item.done', { output_index: 0, item: messageItem(turnId, status, text) });
  }

  /** A tool call is sent when the model has completed it. */
  function* called(call: CallerToolCall, at: number): Generator<string> {
    const output_index = at + (speaking ? 1 : 0);
    const place = { item_id: callId(turnId, at), output_index };
    yield* event('response.output_item.added', { output_index, item: callItem(turnId, { call, at, status: 'in_progress' }) });
    yield* event('response.function_call_arguments.delta', { ...place, delta: call.arguments });
    yield* event('response.function_call_arguments.done', { ...place, name: call.name, arguments: call.arguments });
    yield* event('response.output_item.done', { output_index, item: callItem(turnId, { call, at, status: 'completed' }) });
  }

  function* end(outcome: ResponseOutcome): Generator<string> {
    const { status, calls = [] } = outcome;
    if (status === 'completed' || status === 'incomplete') {
      if (outcome.text.startsWith(text)) yield* say(outcome.text.slice(text.length));
      if (calls.length === 0 && status === 'completed') yield* open();
      if (speaking) yield* close(status);
      for (const [at, call] of calls.entries()) yield* called(call, at);
    }
    last();
    yield* whole(`response.${LAST[status]}`, { ...outcome, text });
  }

  return {
    begin: () => ['response.created', 'response.in_progress'].flatMap((type) => whole(type, { status: 'in_progress', text: '' })),
    say: (more) => [...say(more)],
    end: (outcome) => [...end(outcome)],
    lose: ({ code, message }) => {
      last();
      return event('error', { code, message, param: null });
    },
    get text() {
      return text;
    },
  };
}
