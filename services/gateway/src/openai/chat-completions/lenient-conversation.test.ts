import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RefusalError } from '../../request/refusal.ts';
import { parseResponseBody, toResponseRequest } from '../responses/response-body.ts';
import type { InlineItem } from '../responses/response-items.ts';
import { parseCompletionBody } from './completion-body.ts';

const system = (content: string) => ({ role: 'system', content });
const user = (content: unknown) => ({ role: 'user', content });
const assistant = (content: string) => ({ role: 'assistant', content });
const call = {
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'c1', type: 'function', function: { name: 'find', arguments: '{}' } }],
};
const result = (content: unknown) => ({ role: 'tool', tool_call_id: 'c1', content });
const text = (value: string) => ({ type: 'text', text: value });
const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } };
const imageItem = { type: 'input_image', image_url: image.image_url.url };
const images = [image.image_url.url];
const noImage = { type: 'image_url', image_url: { url: 'x' } };
const callItem = { type: 'function_call', call_id: 'c1', name: 'find', arguments: '{}' };
const resultItem = (output: unknown) => ({ type: 'function_call_output', call_id: 'c1', output });

const missing = '(The earlier messages of this conversation were left out.)';
const imageNote = '[image left out: only text is supported]';
const callMessage = { role: 'assistant', text: '', toolCalls: [{ callId: 'c1', name: 'find', arguments: '{}' }] };
const resultMessage = (value: string) => ({ role: 'tool', callId: 'c1', name: 'find', text: value });
const tools = { offered: [] };

/** Histories, how the lenient path understands them, and the message with which `/v1` refuses those that it does not accept. */
const cases: readonly { name: string; messages: object[]; input?: object[]; turn: object; warning?: string; strict?: RegExp }[] = [
  {
    name: 'one system message only',
    messages: [system('Say hi.')],
    turn: { message: 'Say hi.' },
    strict: /^No user message found/,
  },
  {
    name: 'several system messages only',
    messages: [system('Be brief.'), system('Say hi.')],
    turn: { system: 'Be brief.', message: 'Say hi.' },
    strict: /^No user message found/,
  },
  {
    name: 'several system messages between others',
    messages: [system('Be brief.'), user('one'), assistant('1'), system('Be kind.'), user('two')],
    turn: {
      system: 'Be brief.\nBe kind.',
      message: 'two',
      history: [
        { role: 'user', text: 'one' },
        { role: 'assistant', text: '1' },
      ],
    },
  },
  {
    name: 'an answer without a user turn',
    messages: [assistant('Hello.')],
    turn: { message: missing, since: [{ role: 'assistant', text: 'Hello.' }] },
    strict: /^No user message found/,
  },
  {
    name: 'a tool round without its user turn',
    messages: [system('Be brief.'), call, result('ok')],
    input: [system('Be brief.'), callItem, resultItem('ok')],
    turn: { system: 'Be brief.', message: missing, since: [callMessage, resultMessage('ok')], tools },
    strict: /^(Invalid request: messages\.1\.content|No user message found)/,
  },
  {
    name: 'a tool round without its user turn before a user message',
    messages: [call, result('ok'), user('and?')],
    input: [callItem, resultItem('ok'), user('and?')],
    turn: { message: 'and?', history: [{ role: 'user', text: missing }, callMessage, resultMessage('ok')], tools },
  },
  {
    name: 'a tool result without its call',
    messages: [result('ok'), user('and?')],
    input: [resultItem('ok'), user('and?')],
    turn: { message: 'and?' },
    warning: 'tool result without its call left out',
    strict: /^Invalid request: (messages\.0\.role|input: expected the id of an earlier function call)/,
  },
  {
    name: 'an empty user message',
    messages: [user('')],
    turn: { message: '(empty message)' },
    strict: /expected a non-empty user message$/,
  },
  {
    name: 'an empty user message in the history',
    messages: [user(''), assistant('1'), user('two')],
    turn: {
      message: 'two',
      history: [
        { role: 'user', text: '(empty message)' },
        { role: 'assistant', text: '1' },
      ],
    },
  },
  {
    name: 'an image in earlier, tool and user messages',
    messages: [user([text('look'), image]), assistant('1'), user([text('two'), image]), call, result([text('seen'), image])],
    input: [
      user([{ type: 'input_text', text: 'look' }, imageItem]),
      assistant('1'),
      user([{ type: 'input_text', text: 'two' }, imageItem]),
      callItem,
      resultItem([{ type: 'input_text', text: 'seen' }, imageItem]),
    ],
    turn: {
      message: 'two',
      images,
      history: [
        { role: 'user', text: 'look', images },
        { role: 'assistant', text: '1' },
      ],
      since: [callMessage, { ...resultMessage('seen'), images }],
      tools,
    },
    warning: 'images reach only models that take them',
    strict: /^Invalid request: (messages\.0\.content|input)/,
  },
  {
    name: 'a user message with an image only',
    messages: [user([image])],
    input: [user([imageItem])],
    turn: { message: '(image)', images },
    warning: 'images reach only models that take them',
    strict: /^Invalid request: (messages\.0\.content|input)/,
  },
  {
    name: 'an image of an assistant message',
    messages: [{ ...assistant('1'), content: [text('red'), image] }, user('two')],
    input: [{ ...assistant('1'), content: [{ type: 'output_text', text: 'red' }, imageItem] }, user('two')],
    turn: { message: 'two', history: [{ role: 'assistant', text: `red\n${imageNote}` }] },
    warning: 'part of type X left out',
    strict: /^Invalid request: (messages\.0\.content|input)/,
  },
  {
    name: 'an image without an address in an earlier message and in a tool result',
    messages: [user([text('look'), noImage]), assistant('1'), user('two'), call, result([text('seen'), noImage])],
    input: [
      user([
        { type: 'input_text', text: 'look' },
        { type: 'input_image', image_url: 'x' },
      ]),
      assistant('1'),
      user('two'),
      callItem,
      resultItem([
        { type: 'input_text', text: 'seen' },
        { type: 'input_image', image_url: 'x' },
      ]),
    ],
    turn: {
      message: 'two',
      history: [
        { role: 'user', text: `look\n${imageNote}` },
        { role: 'assistant', text: '1' },
      ],
      since: [callMessage, resultMessage(`seen\n${imageNote}`)],
      tools,
    },
    warning: 'part of type X left out',
    strict: /^Invalid request: (messages\.0\.content|input)/,
  },
];

const parseMessages = (messages: object[], lenient: boolean) => parseCompletionBody({ model: 'm', messages }, lenient);
const parseInput = (input: object[], lenient: boolean) => {
  const body = parseResponseBody({ model: 'm', input }, lenient);
  return toResponseRequest(body, [], body.input as InlineItem[]);
};

function assertRefused(parse: () => unknown, message: RegExp): void {
  assert.throws(parse, (error) => {
    assert.ok(error instanceof RefusalError);
    assert.match(error.refusal.message, message);
    assert.equal(error.refusal.status, 400);
    return true;
  });
}

for (const { name, messages, input = messages, turn, warning, strict } of cases) {
  test(`the lenient path accepts ${name}, and /v1 is unchanged`, () => {
    for (const [field, parse, body] of [
      ['messages', parseMessages, messages],
      ['input', parseInput, input],
    ] as const) {
      const { turn: parsed, warnings = [] } = parse(body, true);
      assert.deepEqual(parsed, { model: 'm', ...turn });
      const type = field === 'messages' ? 'image_url' : 'input_image';
      const expected = warning === undefined ? [] : [`${field}: ${warning.replace('X', type)}`];
      assert.deepEqual([...new Set(warnings)], expected);
      if (strict) assertRefused(() => parse(body, false), strict);
    }
  });
}

test('an image without an address in the last user message is refused, because the answer would be about it', () => {
  const message = 'expected a text part, got a part of type';
  assertRefused(
    () => parseMessages([user([text('what?'), noImage])], true),
    new RegExp(`^Invalid request: messages.0.content.1: ${message}`),
  );
  const input = [user([{ type: 'input_image', image_url: 'x' }])];
  assertRefused(() => parseInput(input, true), new RegExp(`^Invalid request: input: ${message} input_image$`));
});

test('a tool result of a call in an earlier response is kept, and the added messages are counted after the repair', () => {
  const body = parseResponseBody({ model: 'm', input: [resultItem('ok'), { ...resultItem('lost'), call_id: 'c9' }, user('')] }, true);
  const earlier = [
    { role: 'user' as const, content: 'hi' },
    { role: 'assistant' as const, content: '', toolCalls: [{ callId: 'c1', name: 'find', arguments: '{}' }] },
  ];
  const { turn, added, warnings } = toResponseRequest(body, earlier, body.input as InlineItem[]);
  assert.deepEqual(turn.history, [{ role: 'user', text: 'hi' }, callMessage, resultMessage('ok')]);
  assert.deepEqual([turn.message, added, warnings], ['(empty message)', { messages: 2 }, ['input: tool result without its call left out']]);
});
