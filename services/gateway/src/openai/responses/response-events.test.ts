import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createResponseEvents } from './response-events.ts';
import type { ResponseOutcome } from './response-resource.ts';

const head = { turnId: 'turn_0123456789abcdefghijkl', createdAt: 1, echo: { model: 'm' } };
const CALL = { callId: 'c1', name: 'find', arguments: '{}' };

/** Tells a response in pieces, and gives the types and numbers of its events. */
function tell(pieces: readonly string[], outcome: Omit<ResponseOutcome, 'text'>, after?: number): string[] {
  const events = createResponseEvents(head, after);
  const all = [...events.begin(), ...pieces.flatMap((piece) => events.addText(piece))];
  return [...all, ...events.end({ text: pieces.join(''), ...outcome })].map(short);
}

function short(event: string): string {
  const { type, sequence_number: number } = JSON.parse(event.slice(event.indexOf('{'))) as { type: string; sequence_number: number };
  return `${number} ${type.replace('response.', '')}`;
}

const OPENED = ['0 created', '1 in_progress', '2 output_item.added', '3 content_part.added'];
const CLOSED = ['output_text.done', 'content_part.done', 'output_item.done'];
const from = (number: number, types: readonly string[]): string[] => types.map((type, at) => `${number + at} ${type}`);

test('text is an item with events before and after it', () => {
  const said = [...OPENED, ...from(4, ['output_text.delta', 'output_text.delta'])];
  assert.deepEqual(tell(['a', 'b'], { status: 'completed' }), [...said, ...from(6, [...CLOSED, 'completed'])]);
  assert.deepEqual(tell(['a', 'b'], { status: 'incomplete', reason: 'max_output_tokens' }), [
    ...said,
    ...from(6, [...CLOSED, 'incomplete']),
  ]);
  assert.deepEqual(tell(['a', 'b'], { status: 'failed', error: { code: 'server_error', message: 'x' } }), [...said, '6 failed']);
  assert.deepEqual(tell(['a', 'b'], { status: 'cancelled', reason: 'cancelled' }), [...said, '6 incomplete']);
});

test('an empty answer is an empty text, except with tool calls', () => {
  assert.deepEqual(tell([], { status: 'completed' }), [...OPENED, ...from(4, [...CLOSED, 'completed'])]);
  const called = ['output_item.added', 'function_call_arguments.delta', 'function_call_arguments.done', 'output_item.done'];
  assert.deepEqual(tell([], { status: 'completed', calls: [CALL] }), [...OPENED.slice(0, 2), ...from(2, [...called, 'completed'])]);
  const both = ['output_text.delta', ...CLOSED, ...called, ...called, 'completed'];
  assert.deepEqual(tell(['a'], { status: 'completed', calls: [CALL, CALL] }), [...OPENED, ...from(4, both)]);
});

test('a resumed stream continues after the last event and always ends', () => {
  const all = tell(['a', 'b'], { status: 'completed' });
  for (let after = 0; after < all.length - 1; after += 1) {
    assert.deepEqual(tell(['a', 'b'], { status: 'completed' }, after), all.slice(after + 1));
  }
  assert.deepEqual(tell([], { status: 'cancelled' }, 40), ['41 incomplete'], 'more was told than is known');
});

test('text missing from the stream is sent at the end', () => {
  const events = createResponseEvents(head);
  events.begin();
  events.addText('a');
  const end = events.end({ status: 'completed', text: 'ab' });
  assert.match(end[0] ?? '', /"delta":"b"/);
  assert.match(end.at(-1) ?? '', /"text":"ab"/);
});

test('one that cannot be followed ends with an error, and not as failed', () => {
  const events = createResponseEvents(head, 9);
  events.begin();
  assert.deepEqual(events.abort({ code: 'server_error', message: 'lost' }), [
    'event: error\ndata: {"type":"error","sequence_number":10,"code":"server_error","message":"lost","param":null}\n\n',
  ]);
});
