import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createResponseEvents } from './response-events.ts';
import type { ResponseOutcome } from './response-resource.ts';

const head = { turnId: 'turn_0123456789abcdefghijkl', createdAt: 1, echo: { model: 'm' } };
const CALL = { callId: 'c1', name: 'find', arguments: '{}' };

/** Returns the numbers and types of the events of a response with these pieces. */
function listEvents(pieces: readonly string[], outcome: Omit<ResponseOutcome, 'text'>, after?: number): string[] {
  const events = createResponseEvents(head, after);
  const sent = [...events.begin(), ...pieces.flatMap((piece) => events.addText(piece))];
  return [...sent, ...events.end({ text: pieces.join(''), ...outcome })].map(short);
}

function short(event: string): string {
  const { type, sequence_number: number } = JSON.parse(event.slice(event.indexOf('{'))) as { type: string; sequence_number: number };
  return `${number} ${type.replace('response.', '')}`;
}

const OPENED = ['0 created', '1 in_progress', '2 output_item.added', '3 content_part.added'];
const CLOSED = ['output_text.done', 'content_part.done', 'output_item.done'];
const numberFrom = (first: number, types: readonly string[]): string[] => types.map((type, index) => `${first + index} ${type}`);

test('sends item events before and after text', () => {
  const started = [...OPENED, ...numberFrom(4, ['output_text.delta', 'output_text.delta'])];
  assert.deepEqual(listEvents(['a', 'b'], { status: 'completed' }), [...started, ...numberFrom(6, [...CLOSED, 'completed'])]);
  assert.deepEqual(listEvents(['a', 'b'], { status: 'incomplete', reason: 'max_output_tokens' }), [
    ...started,
    ...numberFrom(6, [...CLOSED, 'incomplete']),
  ]);
  assert.deepEqual(listEvents(['a', 'b'], { status: 'failed', error: { code: 'server_error', message: 'x' } }), [...started, '6 failed']);
  assert.deepEqual(listEvents(['a', 'b'], { status: 'cancelled', reason: 'cancelled' }), [...started, '6 incomplete']);
});

test('sends an empty message for an empty response without tool calls', () => {
  assert.deepEqual(listEvents([], { status: 'completed' }), [...OPENED, ...numberFrom(4, [...CLOSED, 'completed'])]);
  const callEvents = ['output_item.added', 'function_call_arguments.delta', 'function_call_arguments.done', 'output_item.done'];
  assert.deepEqual(listEvents([], { status: 'completed', calls: [CALL] }), [
    ...OPENED.slice(0, 2),
    ...numberFrom(2, [...callEvents, 'completed']),
  ]);
  const both = ['output_text.delta', ...CLOSED, ...callEvents, ...callEvents, 'completed'];
  assert.deepEqual(listEvents(['a'], { status: 'completed', calls: [CALL, CALL] }), [...OPENED, ...numberFrom(4, both)]);
});

test('a resumed stream continues after the last event and always ends', () => {
  const events = listEvents(['a', 'b'], { status: 'completed' });
  for (let after = 0; after < events.length - 1; after += 1) {
    assert.deepEqual(listEvents(['a', 'b'], { status: 'completed' }, after), events.slice(after + 1));
  }
  assert.deepEqual(listEvents([], { status: 'cancelled' }, 40), ['41 incomplete'], 'the client names an event that was never sent');
});

test('text missing from the stream is sent at the end', () => {
  const events = createResponseEvents(head);
  events.begin();
  events.addText('a');
  const end = events.end({ status: 'completed', text: 'ab' });
  assert.match(end[0] ?? '', /"delta":"b"/);
  assert.match(end.at(-1) ?? '', /"text":"ab"/);
});

test('ends a stream that cannot be followed with an error event', () => {
  const events = createResponseEvents(head, 9);
  events.begin();
  assert.deepEqual(events.abort({ code: 'server_error', message: 'lost' }), [
    'event: error\ndata: {"type":"error","sequence_number":10,"code":"server_error","message":"lost","param":null}\n\n',
  ]);
});

test('calls of custom tools, of namespaces and of the shell have their own items and events', () => {
  const find = { type: 'function', name: 'find' };
  const tools = [{ type: 'custom', name: 'patch' }, { type: 'namespace', name: 'docs', tools: [find] }, { type: 'local_shell' }];
  const calls = [
    { callId: 'c1', name: 'patch', arguments: '{"input":"a\\nb"}' },
    { callId: 'c2', name: 'patch', arguments: 'a bare text' },
    { callId: 'c3', name: 'docs__find', arguments: '{"q":1}' },
    { callId: 'c4', name: 'local_shell', arguments: '{"command":["ls"],"timeout_ms":5}' },
    { callId: 'c5', name: 'local_shell', arguments: '{"command":"ls"}' },
  ];
  const events = createResponseEvents({ ...head, echo: { tools } });
  const sent = events.end({ status: 'completed', text: '', calls });
  const bodies = sent.map(
    (event) => JSON.parse(event.slice(event.indexOf('{'))) as { type: string; delta?: string; item?: { id: string } },
  );
  const items = bodies.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item);
  const suffix = '0123456789abcdefghijkl';
  const status = 'completed';
  assert.deepEqual(items, [
    { type: 'custom_tool_call', id: `ctc_${suffix}_0`, call_id: 'c1', name: 'patch', input: 'a\nb', status },
    { type: 'custom_tool_call', id: `ctc_${suffix}_1`, call_id: 'c2', name: 'patch', input: 'a bare text', status },
    { type: 'function_call', id: `fc_${suffix}_2`, call_id: 'c3', name: 'find', namespace: 'docs', arguments: '{"q":1}', status },
    {
      type: 'local_shell_call',
      id: `lsh_${suffix}_3`,
      call_id: 'c4',
      action: { type: 'exec', command: ['ls'], env: {}, timeout_ms: 5 },
      status,
    },
    { type: 'function_call', id: `fc_${suffix}_4`, call_id: 'c5', name: 'local_shell', arguments: '{"command":"ls"}', status },
  ]);
  assert.deepEqual(
    bodies.slice(0, 4).map(({ type, delta }) => [type.replace('response.', ''), delta]),
    [
      ['output_item.added', undefined],
      ['custom_tool_call_input.delta', 'a\nb'],
      ['custom_tool_call_input.done', undefined],
      ['output_item.done', undefined],
    ],
  );
  assert.deepEqual((bodies.at(-1) as { response?: { output: unknown } }).response?.output, items);
});

test('a lenient client receives a reasoning item between the message and the calls, and a strict one does not', () => {
  const outcome = { status: 'completed' as const, calls: [CALL], providerFields: { reasoning_content: 'because' } };
  const list = (lenient: boolean, fields: Record<string, unknown> = outcome.providerFields) => {
    const events = createResponseEvents({ ...head, lenient });
    const sent = [...events.addText('so'), ...events.end({ ...outcome, providerFields: fields, text: 'so' })];
    return sent.map(
      (event) => JSON.parse(event.slice(event.indexOf('{'))) as { type: string; output_index?: number; item?: { type: string } },
    );
  };
  const items = (lenient: boolean) =>
    list(lenient)
      .filter(({ type }) => type === 'response.output_item.done')
      .map(({ item, output_index: index }) => [index, item?.type]);
  assert.deepEqual(items(false), [
    [0, 'message'],
    [1, 'function_call'],
  ]);
  assert.deepEqual(items(true), [
    [0, 'message'],
    [1, 'reasoning'],
    [2, 'function_call'],
  ]);
  const summary = (fields: Record<string, unknown>) => list(true, fields).filter(({ type }) => type.includes('reasoning_summary'));
  assert.deepEqual(
    summary(outcome.providerFields).map(({ type }) => type.replace('response.reasoning_summary_', '')),
    ['part.added', 'text.delta', 'text.done', 'part.done'],
  );
  assert.deepEqual(summary({ signature: 's' }), [], 'opaque fields have no summary');
});
