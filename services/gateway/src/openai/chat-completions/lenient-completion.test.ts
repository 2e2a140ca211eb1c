import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RefusalError } from '../../request/refusal.ts';
import { parseCompletionBody, type CompletionRequest } from './completion-body.ts';

const user = { role: 'user', content: 'hi' };
const plain = { model: 'm', messages: [user] };
const find = { type: 'function', function: { name: 'find', description: 'finds', parameters: { type: 'object' }, strict: true } };
const offered = [{ name: 'find', description: 'finds', parameters: { type: 'object' }, strict: true }];
const called = { id: 'c1', type: 'function', function: { name: 'find', arguments: '{"q":1}' } };

const turnOf = (body: object): CompletionRequest['turn'] => parseCompletionBody({ ...plain, ...body }, true).turn;
const asked = { model: 'm', message: 'hi' };

test('fields that mean nothing here are passed over, and null is as good as nothing', () => {
  const sampling = { top_p: 0.9, presence_penalty: 1, frequency_penalty: 1, seed: 7, logit_bias: { 50256: -100 }, reasoning_effort: 'low' };
  const keeping = { user: 'a', metadata: { a: 'b' }, store: true, service_tier: 'auto', prediction: {}, something: ['else'] };
  const usual = { n: 1, logprobs: false, modalities: ['text'], response_format: { type: 'text' }, stop: '', tool_choice: 'auto' };
  const nothing = { ...sampling, ...keeping, ...usual, parallel_tool_calls: true };
  assert.deepEqual(turnOf(nothing), asked);
  const nulls = Object.fromEntries([...Object.keys(nothing), 'temperature', 'max_tokens', 'stream', 'tools'].map((name) => [name, null]));
  assert.deepEqual(turnOf(nulls), asked);
  assert.deepEqual(
    parseCompletionBody({ ...plain, stream: true, stream_options: { include_usage: true, include_obfuscation: false } }, true),
    {
      turn: asked,
      stream: true,
      includeUsage: true,
    },
  );
});

test('developer is system, parts of text are joined, and the newer name of a limit wins', () => {
  const messages = [
    { role: 'system', content: 'be brief' },
    { role: 'developer', content: [{ type: 'text', text: 'be kind' }] },
    {
      role: 'user',
      name: 'ada',
      content: [
        { type: 'text', text: 'one' },
        { type: 'text', text: 'two' },
      ],
    },
  ];
  assert.deepEqual(turnOf({ messages, max_tokens: 5, max_completion_tokens: 9, temperature: 0.5 }), {
    model: 'm',
    message: 'one\ntwo',
    system: 'be brief\nbe kind',
    maxTokens: 9,
    temperature: 0.5,
  });
});

test('the caller’s tools, which of them must be called, and how many at once', () => {
  assert.deepEqual(turnOf({ tools: [find] }), { ...asked, tools: { offered } });
  assert.deepEqual(turnOf({ tools: [] }), { ...asked, tools: { offered: [] } });
  assert.deepEqual(turnOf({ tools: [{ type: 'function', function: { name: 'f', strict: null } }] }).tools, { offered: [{ name: 'f' }] });
  assert.deepEqual(turnOf({ tools: [find], tool_choice: 'required', parallel_tool_calls: false }).tools, {
    offered,
    choice: 'required',
    parallel: false,
  });
  const choice = { type: 'function', function: { name: 'find' } };
  assert.deepEqual(turnOf({ tools: [find], tool_choice: choice }).tools, { offered, choice: { name: 'find' } });
});

test('calls and their results stand where they stood, and keep the agent’s tools out', () => {
  const round = [
    user,
    { role: 'assistant', content: null, tool_calls: [called, { ...called, id: 'c2' }], refusal: null },
    { role: 'tool', tool_call_id: 'c2', content: 'two' },
    { role: 'tool', tool_call_id: 'c1', content: [{ type: 'text', text: 'one' }] },
  ];
  const since = [
    {
      role: 'assistant',
      text: '',
      toolCalls: ['c1', 'c2'].map((callId) => ({ callId, name: 'find', arguments: '{"q":1}' })),
    },
    { role: 'tool', callId: 'c2', name: 'find', text: 'two' },
    { role: 'tool', callId: 'c1', name: 'find', text: 'one' },
  ];
  assert.deepEqual(turnOf({ messages: round }), { ...asked, since, tools: { offered: [] } });
  const more = [...round, { role: 'assistant', content: 'both' }, { role: 'user', content: 'and?' }];
  assert.deepEqual(turnOf({ messages: more, tools: [find] }), {
    model: 'm',
    message: 'and?',
    history: [{ role: 'user', text: 'hi' }, ...since, { role: 'assistant', text: 'both' }],
    tools: { offered },
  });
});

test('stop sequences and response formats', () => {
  assert.deepEqual(turnOf({ stop: 'END' }).stop, ['END']);
  assert.deepEqual(turnOf({ stop: ['a', '', 'b'] }).stop, ['a', 'b']);
  assert.deepEqual(turnOf({ response_format: { type: 'json_object' } }).format, {});
  const schema = { type: 'object', properties: {} };
  const json_schema = { name: 'thing', description: 'a thing', schema, strict: true };
  assert.deepEqual(turnOf({ response_format: { type: 'json_schema', json_schema } }).format, { name: 'thing', schema, strict: true });
});

const nested = (levels: number): unknown => JSON.parse(`${'{"properties":'.repeat(levels)}{}${'}'.repeat(levels)}`);

const part = (type: string) => ({
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'what is it?' },
        { type, [type]: {} },
      ],
    },
  ],
});
const withSchema = (parameters: unknown) => ({ tools: [{ type: 'function', function: { name: 'f', parameters } }] });
const inTools = 'Invalid request: tools.0.function.parameters: expected';
const refused: [string, object, string, string][] = [
  ['several answers', { n: 2 }, 'Invalid request: n: expected 1, got another number', 'n'],
  ['probabilities', { logprobs: true }, 'Invalid request: logprobs: expected false, got another boolean', 'logprobs'],
  ['speech', { modalities: ['text', 'audio'] }, 'Invalid request: modalities.1: expected "text", got another string', 'modalities'],
  ['functions', { functions: [] }, 'Invalid request: functions: expected nothing, got array', 'functions'],
  ['a search', { web_search_options: {} }, 'Invalid request: web_search_options: expected nothing, got object', 'web_search_options'],
  ['an image', part('image_url'), 'Invalid request: messages.0.content.1: expected a text part, got a part of type image_url', 'messages'],
  ['another part', part('scent'), 'Invalid request: messages.0.content.1: expected a text part, got another part', 'messages'],
  [
    'a tool of another kind',
    { tools: [{ ...find, type: 'custom' }] },
    'Invalid request: tools.0.type: expected "function", got another string',
    'tools',
  ],
  [
    'a choice without tools',
    { tool_choice: 'required' },
    'Invalid request: tool_choice: expected one of the tools, got another tool',
    'tool_choice',
  ],
  [
    'a choice that is no tool',
    { tools: [find], tool_choice: { type: 'function', function: { name: 'other' } } },
    'Invalid request: tool_choice: expected one of the tools, got another tool',
    'tool_choice',
  ],
  [
    'a result of no call',
    { messages: [user, { role: 'tool', tool_call_id: 'c9', content: 'x' }] },
    'Invalid request: messages.1.tool_call_id: expected the id of an earlier tool call, got another string',
    'messages',
  ],
  ['a schema that is none', withSchema('x'), `${inTools} object of at most 64 levels, got another value`, 'tools'],
  ['a bottomless schema', withSchema(nested(100_000)), `${inTools} object of at most 64 levels, got more`, 'tools'],
  [
    'a high temperature',
    { temperature: 3 },
    'Invalid request: temperature: expected number of at most 2, got larger number',
    'temperature',
  ],
  ['no user message', { messages: [{ role: 'developer', content: 'x' }] }, 'No user message found in messages array', 'messages'],
  [
    'many messages',
    { messages: Array.from({ length: 10_001 }, () => user) },
    'Invalid request: messages: expected array of at most 10000 items, got longer array',
    'messages',
  ],
];

for (const [what, body, message, param] of refused) {
  test(`refused, however lenient: ${what}`, () => {
    assert.throws(
      () => turnOf(body),
      (error) => {
        assert.ok(error instanceof RefusalError);
        assert.deepEqual([error.refusal.status, error.refusal.message, error.refusal.param], [400, message, param]);
        return true;
      },
    );
  });
}
