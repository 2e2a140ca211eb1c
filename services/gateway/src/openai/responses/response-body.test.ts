import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { RefusalError } from '../../request/refusal.ts';
import { parseResponseBody, toResponseRequest } from './response-body.ts';
import type { InlineItem } from './response-items.ts';

const validBody = { model: 'm', input: 'hi' };
const user = { role: 'user', content: 'hi' };
const tool = { type: 'function', name: 'find', parameters: { type: 'object' } };
const parse = (body: unknown, lenient = false) => {
  const parsed = parseResponseBody(body, lenient);
  return toResponseRequest(parsed, [], parsed.input as InlineItem[]);
};

function refusal(body: unknown, lenient = false): { message: string; param: string | undefined } {
  try {
    parse(body, lenient);
  } catch (error) {
    assert.ok(error instanceof RefusalError, String(error));
    assert.equal(error.refusal.status, 400);
    return { message: error.refusal.message, param: error.refusal.param };
  }
  return assert.fail(`accepted: ${JSON.stringify(body)}`);
}

test('errors name the invalid field', () => {
  const wrong: readonly (readonly [unknown, string | undefined])[] = [
    [null, undefined],
    ['x', undefined],
    [[], undefined],
    [{}, 'model'],
    [{ model: 'm' }, 'input'],
    [{ model: 'm', input: null }, 'input'],
    [{ model: '', input: 'hi' }, 'model'],
    [{ ...validBody, input: '' }, 'input'],
    [{ ...validBody, input: [] }, 'input'],
    [{ ...validBody, input: [1] }, 'input'],
    [{ ...validBody, input: [{}] }, 'input'],
    [{ ...validBody, input: [{ role: 'user' }] }, 'input'],
    [{ ...validBody, input: [{ role: 'robot', content: 'x' }] }, 'input'],
    [{ ...validBody, input: [{ type: 'item_reference' }] }, 'input'],
    [{ ...validBody, input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'x' }] }] }, 'input'],
    [{ ...validBody, input: [{ role: 'assistant', content: 'nobody asked' }] }, 'input'],
    [{ ...validBody, input: [user, { type: 'function_call_output', call_id: 'c1', output: 'of no call' }] }, 'input'],
    [{ ...validBody, temperature: 3 }, 'temperature'],
    [{ ...validBody, max_output_tokens: 0 }, 'max_output_tokens'],
    [{ ...validBody, tools: [{ type: 'web_search' }] }, 'tools'],
    [{ ...validBody, tool_choice: 'required' }, 'tool_choice'],
    [{ ...validBody, tools: [tool], tool_choice: { type: 'function', name: 'other' } }, 'tool_choice'],
    [{ ...validBody, text: { format: { type: 'xml' } } }, 'text'],
    [{ ...validBody, metadata: { a: 1 } }, 'metadata'],
    [{ ...validBody, metadata: Object.fromEntries(Array.from({ length: 17 }, (_, index) => [index, 'x'])) }, 'metadata'],
    [{ ...validBody, background: true, store: false }, 'background'],
    [{ ...validBody, stream: 'yes' }, 'stream'],
    [{ ...validBody, top_p: 0.5 }, 'top_p'],
    [{ ...validBody, reasoning: { effort: 'high' } }, 'reasoning'],
    [{ ...validBody, user: 'ada' }, 'user'],
    [Object.fromEntries(Array.from({ length: 101 }, (_, index) => [index, index])), undefined],
  ];
  for (const [body, param] of wrong) {
    const { message, param: actualParam } = refusal(body);
    assert.equal(actualParam, param, `${JSON.stringify(body)}: ${message}`);
    assert.match(message, /^(Invalid request: |No user message found in input)/);
  }
});

test('any input is accepted or rejected by its field', () => {
  const text = fc.constantFrom('', 'hi', 'm', 'user', 'find', 'c1', '__proto__');
  const item = fc.record(
    {
      type: fc.constantFrom('message', 'function_call', 'function_call_output', 'reasoning', 'item_reference', undefined),
      role: fc.constantFrom('user', 'assistant', 'system', 'developer', 'tool'),
      content: fc.oneof(
        text,
        fc.array(fc.record({ type: fc.constantFrom('input_text', 'output_text', 'input_image'), text })),
        fc.jsonValue(),
      ),
      call_id: text,
      name: text,
      arguments: text,
      output: fc.oneof(text, fc.jsonValue()),
    },
    { requiredKeys: [] },
  );
  const choice = fc.constantFrom('auto', 'none', 'required', { type: 'function', name: 'find' }, { type: 'allowed_tools', tools: [] });
  const body = fc.record(
    {
      model: text,
      input: fc.oneof(text, fc.array(item, { maxLength: 6 }), fc.jsonValue()),
      tools: fc.oneof(fc.array(fc.constantFrom(tool, { type: 'web_search' }), { maxLength: 3 }), fc.jsonValue()),
      tool_choice: fc.oneof(choice, fc.jsonValue()),
      text: fc.jsonValue(),
      metadata: fc.jsonValue(),
      store: fc.oneof(fc.boolean(), fc.jsonValue()),
      background: fc.boolean(),
    },
    { requiredKeys: [] },
  );
  const property = fc.property(fc.oneof(body, fc.jsonValue()), fc.boolean(), (input, lenient) => {
    try {
      const { turn } = parse(input, lenient);
      assert.ok(turn.model.length > 0 && turn.message.length > 0);
    } catch (error) {
      assert.ok(error instanceof RefusalError && error.refusal.status === 400, String(error));
    }
  });
  fc.assert(property, { numRuns: 5_000 });
});

test('a lenient token may send unsupported fields except those that select another conversation', () => {
  for (const extra of [{ top_p: 0.5 }, { reasoning: { effort: 'high' } }, { user: 'ada' }, { anything: [1] }]) {
    assert.match(refusal({ ...validBody, ...extra }).message, /A lenient token accepts this request/);
    assert.equal(parse({ ...validBody, ...extra }, true).echo['top_p'], 1, 'the response repeats the effective value');
  }
  for (const param of ['conversation', 'prompt']) {
    assert.equal(refusal({ ...validBody, [param]: { id: 'x' } }, true).param, param);
    assert.doesNotMatch(refusal({ ...validBody, [param]: { id: 'x' } }).message, /lenient/);
  }
});

test('accepts null and neutral values for optional fields', () => {
  const nothing = { top_p: 1, presence_penalty: 0, frequency_penalty: 0, top_logprobs: 0, include: [], tools: [], truncation: 'auto' };
  const nulls = {
    temperature: null,
    instructions: null,
    previous_response_id: null,
    metadata: null,
    reasoning: null,
    max_tool_calls: null,
  };
  const { turn } = parse({
    ...validBody,
    ...nothing,
    ...nulls,
    service_tier: 'auto',
    parallel_tool_calls: true,
    text: { format: { type: 'text' } },
  });
  assert.deepEqual(turn, { model: 'm', message: 'hi' }, 'the agent has its own tools');
});

test('converts items to the messages of a turn', () => {
  const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'find', arguments: '{}', id: 'fc_1', status: 'completed' });
  const { turn, system } = parse({
    model: 'm',
    instructions: 'be brief',
    input: [
      { role: 'developer', content: [{ type: 'input_text', text: 'be kind' }] },
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'one' },
          { type: 'input_text', text: 'two' },
        ],
      },
      { type: 'reasoning', summary: [] },
      {
        type: 'message',
        id: 'msg_1',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'so', annotations: [] }],
      },
      call('c1'),
      call('c2'),
      { type: 'function_call_output', call_id: 'c1', output: 'rain' },
      { type: 'function_call_output', call_id: 'c2', output: [{ type: 'input_text', text: 'snow' }] },
    ],
  });
  const toToolCall = (callId: string) => ({ callId, name: 'find', arguments: '{}' });
  assert.deepEqual(turn, {
    model: 'm',
    message: 'one\ntwo',
    since: [
      { role: 'assistant', text: 'so', toolCalls: [toToolCall('c1'), toToolCall('c2')] },
      { role: 'tool', callId: 'c1', name: 'find', text: 'rain' },
      { role: 'tool', callId: 'c2', name: 'find', text: 'snow' },
    ],
    system: 'be brief\nbe kind',
    tools: { offered: [] },
  });
  assert.equal(system, 'be kind', 'instructions apply to this response only');
});

test('passes on tools and tool_choice', () => {
  const tools = [tool, { ...tool, name: 'other' }];
  const offered = [
    { name: 'find', parameters: { type: 'object' } },
    { name: 'other', parameters: { type: 'object' } },
  ];
  const choices: readonly (readonly [unknown, object])[] = [
    ['auto', { offered, choice: 'auto' }],
    ['required', { offered, choice: 'required' }],
    [
      { type: 'function', name: 'other' },
      { offered, choice: { name: 'other' } },
    ],
    [
      { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'find' }] },
      { offered: [offered[0]], choice: 'required' },
    ],
  ];
  for (const [choice, expected] of choices) assert.deepEqual(parse({ ...validBody, tools, tool_choice: choice }).turn.tools, expected);
  assert.deepEqual(parse({ ...validBody, tools, parallel_tool_calls: false }).turn.tools, { offered, parallel: false });
  assert.deepEqual(parse({ ...validBody, tool_choice: 'none' }).turn.tools, { offered: [] }, 'the tools of the agent are excluded too');
});

test('passes on the text format', () => {
  const schema = { type: 'object' };
  const format = (requested: object) => parse({ ...validBody, text: { format: requested } }).turn.format;
  assert.deepEqual(format({ type: 'json_object' }), {});
  assert.deepEqual(format({ type: 'json_schema', name: 'n', schema, strict: true }), { name: 'n', schema, strict: true });
});
