import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RefusalError } from '../../request/refusal.ts';
import { parseCompletionBody } from './completion-body.ts';

const user = { role: 'user', content: 'hi' };
const validBody = { model: 'dev/echo', messages: [user] };

test('joins the instructions and splits the messages at the last user message', () => {
  const messages = [
    { role: 'system', content: 'be brief' },
    { role: 'user', content: 'first' },
    { role: 'assistant', content: 'yes' },
    { role: 'system', content: 'be kind' },
    { role: 'user', content: 'second' },
    { role: 'assistant', content: 'so' },
  ];
  assert.deepEqual(
    parseCompletionBody(
      { model: 'm', messages, stream: true, temperature: 2, max_tokens: 5, stream_options: { include_usage: true } },
      false,
    ),
    {
      turn: {
        model: 'm',
        history: [
          { role: 'user', text: 'first' },
          { role: 'assistant', text: 'yes' },
        ],
        message: 'second',
        since: [{ role: 'assistant', text: 'so' }],
        system: 'be brief\nbe kind',
        temperature: 2,
        maxTokens: 5,
      },
      stream: true,
      includeUsage: true,
    },
  );
  assert.deepEqual(parseCompletionBody(validBody, false), {
    turn: { model: 'dev/echo', message: 'hi' },
    stream: false,
    includeUsage: false,
  });
});

const unknown = 'expected no such parameter, got an unknown name';
/** Added if a lenient token would accept the request. */
const hint = `. Send it to /openai/v1 with the same token. A lenient token accepts this request. Create one: bin/switchyard rpc tokens.create id=NAME scopes='["rpc"]' lenient=true`;
const invalidCases: [string, unknown, string, string | undefined][] = [
  ['null', null, 'Invalid request: body: expected object', undefined],
  ['an array', [], 'Invalid request: body: expected object', undefined],
  ['no model', { messages: [user] }, 'Invalid request: model: expected string, got nothing', 'model'],
  ['an empty model', { ...validBody, model: '' }, 'Invalid request: model: expected non-empty string, got empty string', 'model'],
  [
    'no messages',
    { ...validBody, messages: [] },
    'Invalid request: messages: expected array of at least 1 item, got shorter array',
    'messages',
  ],
  ['tools', { ...validBody, tools: [] }, `Invalid request: tools: ${unknown}${hint}`, 'tools'],
  [
    'tools and an invalid temperature',
    { ...validBody, tools: [], temperature: 3 },
    `Invalid request: temperature: expected number of at most 2, got larger number; tools: ${unknown}`,
    'temperature',
  ],
  ['several answers', { ...validBody, n: 2 }, `Invalid request: n: ${unknown}`, 'n'],
  [
    'too many messages',
    { ...validBody, messages: Array.from({ length: 10_001 }, () => user) },
    'Invalid request: messages: expected array of at most 10000 items, got longer array',
    'messages',
  ],
  [
    'very many fields',
    { ...validBody, ...Object.fromEntries(Array.from({ length: 99 }, (_, index) => [`x${index}`, 1])) },
    'Invalid request: body: expected at most 100 fields',
    undefined,
  ],
  ['two unknown fields', { ...validBody, top_p: 1, user: 'a' }, `Invalid request: top_p: ${unknown}; user: ${unknown}${hint}`, 'top_p'],
  [
    '__proto__',
    JSON.parse('{"model":"m","messages":[{"role":"user","content":"x"}],"__proto__":{}}'),
    `Invalid request: __proto__: ${unknown}${hint}`,
    '__proto__',
  ],
  [
    'array content',
    { ...validBody, messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }] },
    `Invalid request: messages.0.content: expected string, got array${hint}`,
    'messages',
  ],
  [
    'another role',
    { ...validBody, messages: [{ role: 'developer', content: 'x' }] },
    `Invalid request: messages.0.role: expected one of "system", "user", "assistant", got another string${hint}`,
    'messages',
  ],
  [
    'a name on a message',
    { ...validBody, messages: [{ ...user, name: 'bob' }] },
    `Invalid request: messages.0.name: ${unknown}${hint}`,
    'messages',
  ],
  [
    'a high temperature',
    { ...validBody, temperature: 2.1 },
    'Invalid request: temperature: expected number of at most 2, got larger number',
    'temperature',
  ],
  ['no tokens', { ...validBody, max_tokens: 0 }, 'Invalid request: max_tokens: expected number above 0, got smaller number', 'max_tokens'],
  ['half a token', { ...validBody, max_tokens: 1.5 }, 'Invalid request: max_tokens: expected integer, got fractional number', 'max_tokens'],
  ['stream as text', { ...validBody, stream: 'yes' }, 'Invalid request: stream: expected boolean, got string', 'stream'],
  [
    'another stream option',
    { ...validBody, stream_options: { x: 1 } },
    `Invalid request: stream_options.x: ${unknown}${hint}`,
    'stream_options',
  ],
  [
    'no user message',
    { ...validBody, messages: [{ role: 'system', content: 'x' }] },
    'No user message found in messages array',
    'messages',
  ],
  [
    'an empty user message',
    { ...validBody, messages: [{ role: 'user', content: '' }] },
    'Invalid request: messages: expected a non-empty user message',
    'messages',
  ],
];

for (const [name, body, message, param] of invalidCases) {
  test(`rejects ${name}`, () => {
    assert.throws(
      () => parseCompletionBody(body, false),
      (error) => {
        assert.ok(error instanceof RefusalError);
        assert.deepEqual([error.refusal.status, error.refusal.message, error.refusal.param], [400, message, param]);
        return true;
      },
    );
  });
}
