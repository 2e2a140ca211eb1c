import type { CallItem } from './call-items.ts';
import type { ReasoningItem } from './provider-state.ts';
import {
  listCallItems,
  listReasoningItems,
  toMessageId,
  createMessageItem,
  createResponseResource,
  createTextPart,
  type ResponseHead,
  type ResponseOutcome,
} from './response-resource.ts';

/**
 * Encodes the events of one response. They are numbered from 0 without gaps, and a response that is streamed again in the same pieces
 * has the same numbers, so a client can resume after its last event.
 */
export interface ResponseEvents {
  begin(): string[];
  addText(text: string): string[];
  /** Ends the stream with the outcome. */
  end(outcome: ResponseOutcome): string[];
  /** Ends the stream with an error when the response cannot be followed. The response may continue. */
  abort(error: { code: string; message: string }): string[];
  /** All text so far. */
  readonly text: string;
}

const CONTENT = { output_index: 0, content_index: 0 };
const END_EVENTS = {
  completed: 'completed',
  incomplete: 'incomplete',
  cancelled: 'incomplete',
  failed: 'failed',
  in_progress: 'in_progress',
};

export function createResponseEvents(head: ResponseHead, after = -1): ResponseEvents {
  const { turnId } = head;
  const item_id = toMessageId(turnId);
  let next = 0;
  let text = '';
  let messageAdded = false;
  let itemCount = 0;

  const event = (type: string, fields: object): string[] => {
    const sequence_number = next++;
    if (sequence_number <= after) return [];
    return [`event: ${type}\ndata: ${JSON.stringify({ type, sequence_number, ...fields })}\n\n`];
  };
  const resourceEvent = (type: string, outcome: ResponseOutcome): string[] =>
    event(type, { response: createResponseResource(head, outcome) });
  /** Raises the next number above `after`, so that a client with an unknown event number receives the end. */
  const skipToResumed = (): void => void (next = Math.max(next, after + 1));

  function* openMessage(): Generator<string> {
    if (messageAdded) return;
    messageAdded = true;
    itemCount++;
    yield* event('response.output_item.added', { output_index: 0, item: createMessageItem(turnId, 'in_progress') });
    yield* event('response.content_part.added', { item_id, ...CONTENT, part: createTextPart('') });
  }

  function* renderText(delta: string): Generator<string> {
    if (delta === '') return;
    yield* openMessage();
    text += delta;
    yield* event('response.output_text.delta', { item_id, ...CONTENT, delta, logprobs: [] });
  }

  function* closeMessage(status: 'completed' | 'incomplete'): Generator<string> {
    yield* event('response.output_text.done', { item_id, ...CONTENT, text, logprobs: [] });
    yield* event('response.content_part.done', { item_id, ...CONTENT, part: createTextPart(text) });
    yield* event('response.output_item.done', { output_index: 0, item: createMessageItem(turnId, status, text) });
  }

  /** Renders the events of the reasoning, which is complete before it is sent. */
  function* renderReasoning({ id, summary, item }: ReasoningItem): Generator<string> {
    const output_index = itemCount++;
    const ids = { item_id: id, output_index, summary_index: 0 };
    yield* event('response.output_item.added', { output_index, item: { type: 'reasoning', id, summary: [] } });
    if (summary !== undefined) {
      yield* event('response.reasoning_summary_part.added', { ...ids, part: { type: 'summary_text', text: '' } });
      yield* event('response.reasoning_summary_text.delta', { ...ids, delta: summary });
      yield* event('response.reasoning_summary_text.done', { ...ids, text: summary });
      yield* event('response.reasoning_summary_part.done', { ...ids, part: { type: 'summary_text', text: summary } });
    }
    yield* event('response.output_item.done', { output_index, item });
  }

  /** Renders the events of one completed tool call. */
  function* renderCall(item: CallItem): Generator<string> {
    const output_index = itemCount++;
    const ids = { item_id: item.id, output_index };
    yield* event('response.output_item.added', { output_index, item: item.render('in_progress') });
    if (item.type === 'function_call') {
      yield* event('response.function_call_arguments.delta', { ...ids, delta: item.text });
      yield* event('response.function_call_arguments.done', { ...ids, name: item.name, arguments: item.text });
    } else if (item.type === 'custom_tool_call') {
      yield* event('response.custom_tool_call_input.delta', { ...ids, delta: item.text });
      yield* event('response.custom_tool_call_input.done', { ...ids, input: item.text });
    }
    yield* event('response.output_item.done', { output_index, item: item.render('completed') });
  }

  function* renderEnd(outcome: ResponseOutcome): Generator<string> {
    const { status, calls = [] } = outcome;
    if (status === 'completed' || status === 'incomplete') {
      if (outcome.text.startsWith(text)) yield* renderText(outcome.text.slice(text.length));
      if (calls.length === 0 && status === 'completed') yield* openMessage();
      if (messageAdded) yield* closeMessage(status);
      for (const item of listReasoningItems(head, { ...outcome, text })) yield* renderReasoning(item);
      for (const item of listCallItems(head, calls)) yield* renderCall(item);
    }
    skipToResumed();
    yield* resourceEvent(`response.${END_EVENTS[status]}`, { ...outcome, text });
  }

  return {
    begin: () => ['response.created', 'response.in_progress'].flatMap((type) => resourceEvent(type, { status: 'in_progress', text: '' })),
    addText: (delta) => [...renderText(delta)],
    end: (outcome) => [...renderEnd(outcome)],
    abort: ({ code, message }) => {
      skipToResumed();
      return event('error', { code, message, param: null });
    },
    get text() {
      return text;
    },
  };
}
