import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI, { APIError } from 'openai';
import type { ChatCompletionMessageParam, ChatCompletionTool } from 'openai/resources/chat/completions';
import { ServiceError, type Input, type StatelessResult } from '@switchyard/contracts';
import { SECRETS } from '../../gateway.fixture.ts';
import { readEvents, RESULT, startTestTurns } from '../../turns/turns.fixture.ts';

type RunParams = Input<'turns.run'>;

const LENIENT = 'test-secret-of-a-token-that-is-lenient-5';
const CALLS = [
  { callId: 'c1', name: 'find', arguments: '{ "id": 12345678901234567890 }' },
  { callId: 'c2', name: 'find', arguments: '{}' },
];
const tools: ChatCompletionTool[] = [{ type: 'function', function: { name: 'find', parameters: { type: 'object' } } }];
const messages: ChatCompletionMessageParam[] = [{ role: 'user', content: 'hi' }];
const body = { model: 'dev/echo', messages, tools };
const toolCalls = CALLS.map(({ callId, name, arguments: text }) => ({ id: callId, type: 'function', function: { name, arguments: text } }));

/** Starts a gateway whose turns return the given result, and a client with a lenient token. */
async function start(answer: (params: RunParams) => Partial<StatelessResult> & { text?: string }) {
  const requests: RunParams[] = [];
  const t = await startTestTurns(undefined, {
    handlers: {
      'turns.run': async function* (params) {
        requests.push(params);
        const { text = '', ...rest } = answer(params);
        yield { n: 0, type: 'accepted', turnId: params.turnId, agentId: 'default', model: 'dev/echo' };
        if (text !== '') yield { n: 1, type: 'delta', text };
        return { ...RESULT, response: text, ...rest };
      },
      'turns.complete'(params) {
        requests.push(params);
        const { text = '', ...rest } = answer(params);
        return { ...RESULT, response: text, ...rest };
      },
    },
  });
  await t.gateway.putToken({ id: 'lenient', secret: LENIENT, scopes: ['api'], lenient: true });
  const client = new OpenAI({ apiKey: LENIENT, baseURL: `${t.gateway.url}/v1`, maxRetries: 0 });
  return { ...t, requests, client, [Symbol.asyncDispose]: () => t[Symbol.asyncDispose]() };
}

const createToolCallResult = (text = '') => ({ text, finishReason: 'tool_calls' as const, toolCalls: CALLS });

test('returns tool calls in a non-streaming response', async () => {
  for (const text of ['', 'Let me look.']) {
    await using t = await start(() => createToolCallResult(text));
    const { choices } = await t.client.chat.completions.create(body);
    const message = { role: 'assistant', content: text === '' ? null : text, tool_calls: toolCalls };
    assert.deepEqual(choices, [{ index: 0, message, finish_reason: 'tool_calls' }]);
    assert.deepEqual(t.requests[0]?.tools, { offered: [{ name: 'find', parameters: { type: 'object' } }] });
  }
});

test('streams one chunk per tool call before the finish chunk', async () => {
  await using t = await start(() => createToolCallResult('Let me look.'));
  const response = await t.gateway.post('/v1/chat/completions', JSON.stringify({ ...body, stream: true }), { token: LENIENT });
  const events = await Array.fromAsync(readEvents(response));
  const choices = events.slice(0, -1).map(({ data }) => (data as { choices: object[] }).choices[0]);
  assert.deepEqual(choices, [
    { index: 0, delta: { role: 'assistant' }, finish_reason: null },
    { index: 0, delta: { content: 'Let me look.' }, finish_reason: null },
    { index: 0, delta: { tool_calls: [{ index: 0, ...toolCalls[0] }] }, finish_reason: null },
    { index: 0, delta: { tool_calls: [{ index: 1, ...toolCalls[1] }] }, finish_reason: null },
    { index: 0, delta: {}, finish_reason: 'tool_calls' },
  ]);
  const final = await t.client.chat.completions.stream(body).finalChatCompletion();
  assert.deepEqual(
    final.choices[0]?.message.tool_calls?.map((call) => call.type === 'function' && call.function.arguments),
    CALLS.map((call) => call.arguments),
  );
});

test('a call of a custom tool has its input, and a header names the tools that were left out', async () => {
  const toolCalls = [{ callId: 'c1', name: 'patch', arguments: '{"input":"a\\nb"}' }];
  await using t = await start(() => ({ finishReason: 'tool_calls', toolCalls }));
  const request = { ...body, tools: [...tools, { type: 'custom', custom: { name: 'patch' } }, { type: 'web_search' }] };
  const post = (path: string, more: object) => t.gateway.post(path, JSON.stringify({ ...request, ...more }), { token: SECRETS.rpc });
  const call = { id: 'c1', type: 'custom', custom: { name: 'patch', input: 'a\nb' } };
  const warning = 'tools: tool of type web_search left out';
  const whole = await post('/openai/v1/chat/completions', {});
  const { choices } = (await whole.json()) as { choices: { message: { tool_calls: object[] } }[] };
  assert.deepEqual([whole.headers.get('x-switchyard-warning'), choices[0]?.message.tool_calls], [warning, [call]]);
  const streamed = await post('/openai/v1/chat/completions', { stream: true });
  const events = await Array.fromAsync(readEvents(streamed));
  const deltas = events.slice(0, -1).map(({ data }) => (data as { choices: { delta: object }[] }).choices[0]?.delta);
  assert.deepEqual([streamed.headers.get('x-switchyard-warning'), deltas[1]], [warning, { tool_calls: [{ index: 0, ...call }] }]);
  const strict = await post('/v1/chat/completions', {});
  assert.deepEqual([strict.status, strict.headers.get('x-switchyard-warning')], [400, null]);
});

test('validation errors of a service name the request field', async () => {
  const issue = (path: string) => ({ path, expected: 'a', received: 'b', message: `${path}: expected a, got b` });
  for (const [path, param] of [
    ['format', 'response_format'],
    ['history.3.text', 'messages'],
    ['maxTokens', 'max_tokens'],
  ] as const) {
    await using t = await start(() => {
      throw new ServiceError('INVALID_ARGUMENT', 'not like that', { details: { issues: [issue(path)] } });
    });
    await assert.rejects(t.client.chat.completions.create(body), (error) => {
      assert.ok(error instanceof APIError);
      assert.deepEqual(error.error, { message: 'not like that', type: 'invalid_request_error', param, code: null });
      return true;
    });
  }
});

test('NOT_FOUND is reported as an unknown model', async () => {
  await using t = await start(() => {
    throw new ServiceError('NOT_FOUND', 'provider local does not know the model: no such model');
  });
  for (const stream of [false, true]) {
    await assert.rejects(t.client.chat.completions.create({ ...body, stream }), (error) => {
      assert.ok(error instanceof APIError);
      assert.deepEqual([error.status, (error.error as { message: string }).message], [404, 'Model not found']);
      return true;
    });
  }
});

test('a lenient client receives the fields of the provider and sends them back', async () => {
  const providerFields = { reasoning_content: 'I should look it up.' };
  const extra = { extra_content: { google: { thought_signature: 'abc' } } };
  const calls = CALLS.map((call) => ({ ...call, providerFields: extra }));
  await using t = await start(() => ({ finishReason: 'tool_calls', toolCalls: calls, providerFields }));
  const { choices } = await t.client.chat.completions.create(body);
  const message = choices[0]?.message ?? assert.fail();
  const rendered = toolCalls.map((call) => ({ ...extra, ...call }));
  assert.deepEqual(message, { ...providerFields, role: 'assistant', content: null, tool_calls: rendered });
  const response = await t.gateway.post('/v1/chat/completions', JSON.stringify({ ...body, stream: true }), { token: LENIENT });
  const events = await Array.fromAsync(readEvents(response));
  const deltas = events.slice(0, -1).map(({ data }) => (data as { choices: { delta: object }[] }).choices[0]?.delta);
  assert.deepEqual(deltas.slice(1, 3), [providerFields, { tool_calls: [{ index: 0, ...rendered[0] }] }]);

  const results = CALLS.map(({ callId }) => ({ role: 'tool' as const, tool_call_id: callId, content: 'found' }));
  await t.client.chat.completions.create({ ...body, messages: [...messages, message, ...results] });
  assert.deepEqual(t.requests.at(-1)?.since?.[0], { role: 'assistant', text: '', toolCalls: calls, providerFields });
});

test('a strict client does not receive the fields of the provider', async () => {
  await using t = await start(() => ({ text: 'done', providerFields: { reasoning_content: 'hm' } }));
  const token = 'test-secret-of-a-token-that-is-strict-66';
  await t.gateway.putToken({ id: 'strict', secret: token, scopes: ['api'] });
  for (const stream of [false, true]) {
    const response = await t.gateway.post('/v1/chat/completions', JSON.stringify({ model: 'dev/echo', messages, stream }), { token });
    const text = await response.text();
    assert.match(text, /done/);
    assert.doesNotMatch(text, /reasoning_content/);
  }
});

test('a lenient client receives why the model stopped, a strict client the reasons of its format', async () => {
  const token = 'test-secret-of-a-token-that-is-strict-66';
  for (const [result, lenient, strict] of [
    [{ finishReason: 'output_starved' }, 'length', 'stop'],
    [{ finishReason: 'stop', filtered: true }, 'content_filter', 'stop'],
    [{ finishReason: 'max_steps' }, 'length', 'length'],
    [{ finishReason: 'stop' }, 'stop', 'stop'],
  ] as const) {
    await using t = await start(() => ({ text: 'half', ...result }));
    await t.gateway.putToken({ id: 'strict', secret: token, scopes: ['api'] });
    const baseURL = `${t.gateway.url}/v1`;
    for (const [client, reason] of [
      [t.client, lenient],
      [new OpenAI({ apiKey: token, baseURL, maxRetries: 0 }), strict],
    ] as const) {
      const request = { model: 'dev/echo', messages };
      assert.equal((await client.chat.completions.create(request)).choices[0]?.finish_reason, reason);
      const chunks = await Array.fromAsync(await client.chat.completions.create({ ...request, stream: true }));
      assert.equal(chunks.at(-1)?.choices[0]?.finish_reason, reason);
    }
  }
});
