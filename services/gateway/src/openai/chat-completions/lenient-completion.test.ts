import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RefusalError } from '../../request/refusal.ts';
import { parseCompletionBody, type CompletionRequest } from './completion-body.ts';

const user = { role: 'user', content: 'hi' };
const validBody = { model: 'm', messages: [user] };
const find = { type: 'function', function: { name: 'find', description: 'finds', parameters: { type: 'object' }, strict: true } };
const offered = [{ name: 'find', description: 'finds', parameters: { type: 'object' }, strict: true }];
const toolCall = { id: 'c1', type: 'function', function: { name: 'find', arguments: '{"q":1}' } };

const parseTurn = (body: object): CompletionRequest['turn'] => parseCompletionBody({ ...validBody, ...body }, true).turn;
const simpleTurn = { model: 'm', message: 'hi' };

test('ignores unsupported fields and treats null as absent', () => {
  const sampling = { top_p: 0.9, presence_penalty: 1, frequency_penalty: 1, seed: 7, logit_bias: { 50256: -100 }, reasoning_effort: 'low' };
  const storage = { user: 'a', metadata: { a: 'b' }, store: true, service_tier: 'auto', prediction: {}, something: ['else'] };
  const usual = { n: 1, logprobs: false, modalities: ['text'], response_format: { type: 'text' }, stop: '', tool_choice: 'auto' };
  const nothing = { ...sampling, ...storage, ...usual, parallel_tool_calls: true };
  assert.deepEqual(parseTurn(nothing), simpleTurn);
  const nulls = Object.fromEntries([...Object.keys(nothing), 'temperature', 'max_tokens', 'stream', 'tools'].map((name) => [name, null]));
  assert.deepEqual(parseTurn(nulls), simpleTurn);
  assert.deepEqual(
    parseCompletionBody({ ...validBody, stream: true, stream_options: { include_usage: true, include_obfuscation: false } }, true),
    {
      turn: simpleTurn,
      stream: true,
      includeUsage: true,
    },
  );
});

test('maps developer to system, joins text parts and prefers max_completion_tokens', () => {
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
  assert.deepEqual(parseTurn({ messages, max_tokens: 5, max_completion_tokens: 9, temperature: 0.5 }), {
    model: 'm',
    message: 'one\ntwo',
    system: 'be brief\nbe kind',
    maxTokens: 9,
    temperature: 0.5,
  });
});

test('passes on tools, tool_choice and parallel_tool_calls', () => {
  assert.deepEqual(parseTurn({ tools: [find] }), { ...simpleTurn, tools: { offered } });
  assert.deepEqual(parseTurn({ tools: [] }), { ...simpleTurn, tools: { offered: [] } });
  assert.deepEqual(parseTurn({ tools: [{ type: 'function', function: { name: 'f', strict: null } }] }).tools, { offered: [{ name: 'f' }] });
  assert.deepEqual(parseTurn({ tools: [find], tool_choice: 'required', parallel_tool_calls: false }).tools, {
    offered,
    choice: 'required',
    parallel: false,
  });
  const choice = { type: 'function', function: { name: 'find' } };
  assert.deepEqual(parseTurn({ tools: [find], tool_choice: choice }).tools, { offered, choice: { name: 'find' } });
});

test('keeps tool calls and results in order and excludes the tools of the agent', () => {
  const round = [
    user,
    { role: 'assistant', content: null, tool_calls: [toolCall, { ...toolCall, id: 'c2' }], refusal: null },
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
  assert.deepEqual(parseTurn({ messages: round }), { ...simpleTurn, since, tools: { offered: [] } });
  const longer = [...round, { role: 'assistant', content: 'both' }, { role: 'user', content: 'and?' }];
  assert.deepEqual(parseTurn({ messages: longer, tools: [find] }), {
    model: 'm',
    message: 'and?',
    history: [{ role: 'user', text: 'hi' }, ...since, { role: 'assistant', text: 'both' }],
    tools: { offered },
  });
});

const patch = { type: 'custom', custom: { name: 'patch', format: { type: 'grammar', grammar: { syntax: 'regex', definition: 'a+' } } } };
const inputSchema = {
  type: 'object',
  properties: { input: { type: 'string', description: 'the complete input of the tool' } },
  required: ['input'],
  additionalProperties: false,
};
const offeredPatch = { name: 'patch', description: 'The input must match this regex grammar:\na+', parameters: inputSchema };
const allowPatch = { mode: 'auto', tools: [{ type: 'custom', custom: { name: 'patch' } }, { type: 'mcp' }] };

/** Requests that `/v1` refuses, and how the lenient path understands them. */
const toolCases: readonly { name: string; body: object; tools: object; customTools?: string[]; warnings?: string[] }[] = [
  {
    name: 'a custom tool and its choice',
    body: { tools: [find, patch], tool_choice: { type: 'custom', custom: { name: 'patch' } } },
    tools: { offered: [...offered, offeredPatch], choice: { name: 'patch' } },
    customTools: ['patch'],
  },
  {
    name: 'allowed tools',
    body: { tools: [find, patch], tool_choice: { type: 'allowed_tools', allowed_tools: allowPatch } },
    tools: { offered: [offeredPatch], choice: 'auto' },
    customTools: ['patch'],
  },
  {
    name: 'a tool of another type',
    body: { tools: [{ type: 'web_search_preview' }, find] },
    tools: { offered },
    warnings: ['tools: tool of type web_search_preview left out'],
  },
  {
    name: 'tools of other types only, without offering those of the agent',
    body: { tools: [{ type: 'mcp' }], tool_choice: 'required' },
    tools: { offered: [], choice: 'none' },
    warnings: ['tools: tool of type mcp left out'],
  },
  {
    name: 'the choice of another type',
    body: { tools: [find], tool_choice: { type: 'file_search' } },
    tools: { offered },
    warnings: ['tool_choice: choice of type file_search left out'],
  },
];

for (const { name, body, tools, ...more } of toolCases) {
  test(`the lenient path understands ${name}, and /v1 is unchanged`, () => {
    const expected = { turn: { ...simpleTurn, tools }, stream: false, includeUsage: false, ...more };
    assert.deepEqual(parseCompletionBody({ ...validBody, ...body }, true), expected);
    assert.throws(
      () => parseCompletionBody({ ...validBody, ...body }, false),
      (error) => error instanceof RefusalError && /^Invalid request: tool.*: expected no such parameter/.test(error.refusal.message),
    );
  });
}

test('keeps the call of a custom tool and its result', () => {
  const call = { id: 'c1', type: 'custom', custom: { name: 'patch', input: 'aa' } };
  const messages = [user, { role: 'assistant', content: null, tool_calls: [call] }, { role: 'tool', tool_call_id: 'c1', content: 'ok' }];
  assert.deepEqual(parseTurn({ messages }).since, [
    { role: 'assistant', text: '', toolCalls: [{ callId: 'c1', name: 'patch', arguments: '{"input":"aa"}' }] },
    { role: 'tool', callId: 'c1', name: 'patch', text: 'ok' },
  ]);
});

test('passes on stop sequences and response formats', () => {
  assert.deepEqual(parseTurn({ stop: 'END' }).stop, ['END']);
  assert.deepEqual(parseTurn({ stop: ['a', '', 'b'] }).stop, ['a', 'b']);
  assert.deepEqual(parseTurn({ response_format: { type: 'json_object' } }).format, {});
  const schema = { type: 'object', properties: {} };
  const json_schema = { name: 'thing', description: 'a thing', schema, strict: true };
  assert.deepEqual(parseTurn({ response_format: { type: 'json_schema', json_schema } }).format, { name: 'thing', schema, strict: true });
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
const invalidCases: [string, object, string, string][] = [
  ['several answers', { n: 2 }, 'Invalid request: n: expected 1, got another number', 'n'],
  ['probabilities', { logprobs: true }, 'Invalid request: logprobs: expected false, got another boolean', 'logprobs'],
  ['speech', { modalities: ['text', 'audio'] }, 'Invalid request: modalities.1: expected "text", got another string', 'modalities'],
  ['functions', { functions: [] }, 'Invalid request: functions: expected nothing, got array', 'functions'],
  ['a search', { web_search_options: {} }, 'Invalid request: web_search_options: expected nothing, got object', 'web_search_options'],
  ['an image', part('image_url'), 'Invalid request: messages.0.content.1: expected a text part, got a part of type image_url', 'messages'],
  ['another part', part('scent'), 'Invalid request: messages.0.content.1: expected a text part, got another part', 'messages'],
  [
    'an invalid custom tool after a tool of another type',
    { tools: [{ type: 'mcp' }, { type: 'custom' }] },
    'Invalid request: tools.1.custom: expected object, got nothing',
    'tools',
  ],
  [
    'a choice without tools',
    { tool_choice: 'required' },
    'Invalid request: tool_choice: expected one of the tools, got another tool',
    'tool_choice',
  ],
  [
    'a choice of an unknown tool',
    { tools: [find], tool_choice: { type: 'function', function: { name: 'other' } } },
    'Invalid request: tool_choice: expected one of the tools, got another tool',
    'tool_choice',
  ],
  ['an invalid schema', withSchema('x'), `${inTools} object of at most 64 levels, got another value`, 'tools'],
  ['a schema nested too deeply', withSchema(nested(100_000)), `${inTools} object of at most 64 levels, got more`, 'tools'],
  [
    'a high temperature',
    { temperature: 3 },
    'Invalid request: temperature: expected number of at most 2, got larger number',
    'temperature',
  ],
  [
    'too many messages',
    { messages: Array.from({ length: 10_001 }, () => user) },
    'Invalid request: messages: expected array of at most 10000 items, got longer array',
    'messages',
  ],
];

for (const [name, body, message, param] of invalidCases) {
  test(`rejects ${name} even with a lenient token`, () => {
    assert.throws(
      () => parseTurn(body),
      (error) => {
        assert.ok(error instanceof RefusalError);
        assert.deepEqual([error.refusal.status, error.refusal.message, error.refusal.param], [400, message, param]);
        return true;
      },
    );
  });
}
