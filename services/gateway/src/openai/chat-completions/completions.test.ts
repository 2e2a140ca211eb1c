import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI, { APIError } from 'openai';
import type { Ctx, Handler } from '@switchyard/bus';
import { ServiceError, type FinishReason, type TurnResult } from '@switchyard/contracts';
import type { z } from 'zod';
import { SECRETS } from '../../gateway.fixture.ts';
import { readEvents, RESULT, startTestTurns, type FrameBody } from '../../turns/turns.fixture.ts';

type Script = (params: Parameters<Handler<'turns.run'>>[0], ctx: Ctx) => AsyncGenerator<FrameBody, TurnResult, void>;

const TOKEN = SECRETS.rpc;
const HINT = `Send it to /openai/v1 with the same token. A lenient token accepts this request. Create one: bin/switchyard rpc tokens.create id=NAME scopes='["rpc"]' lenient=true`;

async function start(script: Script) {
  const run: Handler<'turns.run'> = async function* (params, ctx) {
    let n = 0;
    const bodies = script(params, ctx);
    yield { n: n++, type: 'accepted', turnId: params.turnId, agentId: 'default', model: 'dev/echo' };
    yield { n: n++, type: 'step', step: 1 };
    for (;;) {
      const step = await bodies.next();
      if (!step.done) yield { n: n++, ...step.value };
      else {
        yield { n: n++, type: 'done', result: step.value };
        return step.value;
      }
    }
  };
  const complete: Handler<'turns.complete'> = async (params, ctx) => {
    const bodies = script(params, ctx);
    let step = await bodies.next();
    while (!step.done) step = await bodies.next();
    return step.value;
  };
  const t = await startTestTurns(undefined, { handlers: { 'turns.run': run, 'turns.complete': complete } });
  const client = new OpenAI({ apiKey: TOKEN, baseURL: `${t.gateway.url}/v1`, maxRetries: 0 });
  return { ...t, client, [Symbol.asyncDispose]: () => t[Symbol.asyncDispose]() };
}

async function* streamWords(): AsyncGenerator<FrameBody, TurnResult, void> {
  for (const text of ['one ', 'two ', 'three']) yield { type: 'delta', text };
  return RESULT;
}

// eslint-disable-next-line require-yield
async function* failWith(error: ServiceError): AsyncGenerator<FrameBody, TurnResult, void> {
  throw error;
}

const messages = [{ role: 'user' as const, content: 'hi' }];
const body = { model: 'dev/echo', messages };

test('returns a non-streaming completion', async () => {
  let received: unknown;
  await using t = await start((params) => {
    received = params;
    return streamWords();
  });
  const { data, response } = await t.client.chat.completions
    .create({ ...body, messages: [{ role: 'system', content: 'brief' }, ...messages], temperature: 0.5, max_tokens: 9 })
    .withResponse();
  assert.match(data.id, /^chatcmpl-[0-9a-f]{8}-[0-9a-f-]{27}$/);
  assert.ok(Math.abs(data.created - Date.now() / 1_000) < 60 && Number.isInteger(data.created));
  assert.deepEqual(
    { ...data, id: 'x', created: 0 },
    {
      id: 'x',
      object: 'chat.completion',
      created: 0,
      model: 'dev/echo',
      choices: [{ index: 0, message: { role: 'assistant', content: 'one two three' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
    },
  );
  assert.equal(response.headers.get('cache-control'), 'no-store');
  const { turnId, ...rest } = received as { turnId: string };
  assert.match(turnId, /^turn_/);
  assert.deepEqual(rest, { model: 'dev/echo', message: 'hi', system: 'brief', temperature: 0.5, maxTokens: 9 });
});

test('streams role, content, finish, usage and end as data frames', async () => {
  await using t = await start(streamWords);
  const response = await t.gateway.post(
    '/v1/chat/completions',
    JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true } }),
    { token: TOKEN },
  );
  assert.equal(response.headers.get('content-type'), 'text/event-stream');
  const events = await Array.fromAsync(readEvents(response));
  assert.ok(events.every((event) => Object.keys(event).join() === 'data'));
  assert.equal(events.pop()?.data, '[DONE]');
  const chunks = events.map(({ data }) => data as Record<string, unknown>);
  const { id, created } = chunks[0] as { id: string; created: number };
  const same = { id, object: 'chat.completion.chunk', created, model: 'dev/echo' };
  const choice = (delta: object, finish_reason: string | null = null) => ({ ...same, choices: [{ index: 0, delta, finish_reason }] });
  assert.deepEqual(chunks, [
    choice({ role: 'assistant' }),
    choice({ content: 'one ' }),
    choice({ content: 'two ' }),
    choice({ content: 'three' }),
    choice({}, 'stop'),
    { ...same, choices: [], usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } },
  ]);
});

test('sends each delta unchanged in its own chunk', async () => {
  const texts = ['plain', 'say "hi"', '\\', '\\"', '\n\u0000', 'é😀', '\u2028', '{"n":1,"type":"delta","text":"x"}', '\ud83d', '\ude00'];
  await using t = await start(async function* () {
    for (const text of texts) yield { type: 'delta', text };
    return RESULT;
  });
  const received: unknown[] = [];
  for await (const { choices } of await t.client.chat.completions.create({ ...body, stream: true }))
    if (choices[0]?.delta.content !== undefined) received.push(choices[0].delta.content);
  assert.deepEqual(received, texts);
});

test('works with streams of the openai package and sends usage only on request', async () => {
  await using t = await start(streamWords);
  let text = '';
  for await (const chunk of await t.client.chat.completions.create({ ...body, stream: true })) {
    text += chunk.choices[0]?.delta.content ?? '';
    assert.ok(!('usage' in chunk));
  }
  assert.equal(text, 'one two three');
  const helper = t.client.chat.completions.stream({ ...body, stream_options: { include_usage: true } });
  const final = await helper.finalChatCompletion();
  assert.equal(final.choices[0]?.message.content, 'one two three');
  assert.equal(final.usage?.total_tokens, 7);
});

test('returns finish_reason length only for max_steps', async () => {
  const reasons: [z.infer<typeof FinishReason>, string][] = [
    ['stop', 'stop'],
    ['end_turn', 'stop'],
    ['max_steps', 'length'],
    ['budget_exceeded', 'stop'],
    ['circuit_open', 'stop'],
    ['context_loop', 'stop'],
    ['error', 'stop'],
  ];
  for (const [finishReason, expected] of reasons) {
    await using t = await start(async function* () {
      yield { type: 'delta', text: 'x' };
      return { ...RESULT, finishReason };
    });
    assert.equal((await t.client.chat.completions.create(body)).choices[0]?.finish_reason, expected);
  }
});

async function catchApiError(promise: Promise<unknown>): Promise<APIError> {
  const error: unknown = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof APIError);
  return error;
}

test('returns a failure before the first delta as an HTTP status', async () => {
  const failures = [
    { error: new ServiceError('NOT_FOUND', 'Model not found'), status: 404, type: 'not_found_error' },
    {
      error: new ServiceError('RESOURCE_EXHAUSTED', 'slow down', { details: { retryAfterMs: 1_200 } }),
      status: 429,
      type: 'rate_limit_error',
      after: ['2', '1200'],
    },
    { error: new ServiceError('UNAVAILABLE', 'away'), status: 503, type: 'server_error', after: ['1', '1000'] },
    { error: new ServiceError('DEADLINE_EXCEEDED', 'late'), status: 504, type: 'server_error' },
    { error: new ServiceError('FAILED_PRECONDITION', 'suspended'), status: 400, type: 'invalid_request_error' },
  ];
  for (const { error, status, type, after = [null, null] } of failures) {
    await using t = await start(() => failWith(error));
    for (const stream of [false, true]) {
      const failure = await catchApiError(t.client.chat.completions.create({ ...body, stream }));
      assert.equal(failure.status, status);
      assert.deepEqual(failure.error, { message: error.message, type, param: null, code: null });
      assert.deepEqual([failure.headers?.get('retry-after'), failure.headers?.get('retry-after-ms')], after);
      assert.equal(failure.headers?.get('x-should-retry'), status === 504 ? 'false' : null, 'a turn above its deadline may have run');
    }
  }
});

test('the openai package retries a turn that did not run, and no final failure', async () => {
  const createUnavailable = (retryable?: boolean) =>
    new ServiceError('UNAVAILABLE', 'away', { details: { retryAfterMs: 1, ...(retryable === undefined ? {} : { retryable }) } });
  const scripts: [string, Script, number][] = [
    ['did not run', () => failWith(createUnavailable()), 3],
    ['marked as final', () => failWith(createUnavailable(false)), 1],
  ];
  for (const [name, script, expected] of scripts) {
    let attempts = 0;
    await using t = await start((params, ctx) => {
      attempts++;
      return script(params, ctx);
    });
    await catchApiError(t.client.chat.completions.create(body, { maxRetries: 2 }));
    assert.equal(attempts, expected, name);
  }
});

test('ends the stream with an error frame when a turn fails after the first delta', async () => {
  await using t = await start(async function* () {
    yield { type: 'delta', text: 'one ' };
    throw new ServiceError('UNAVAILABLE', 'The model broke off.');
  });
  const response = await t.gateway.post('/v1/chat/completions', JSON.stringify({ ...body, stream: true }), { token: TOKEN });
  const events = (await Array.fromAsync(readEvents(response))).map(({ data }) => data);
  assert.deepEqual(events.slice(-2), [
    { error: { message: 'The model broke off.', type: 'server_error', param: null, code: null } },
    '[DONE]',
  ]);
  assert.equal(events.length, 4);
  assert.ok(!JSON.stringify(events).includes('"finish_reason":"'));

  const failure = await catchApiError(
    (async () => {
      for await (const chunk of await t.client.chat.completions.create({ ...body, stream: true })) assert.ok(chunk.id);
    })(),
  );
  assert.match(failure.message, /The model broke off/);
});

test('ends the stream when the turn sends an error frame', async () => {
  const error = { code: 'RESOURCE_EXHAUSTED' as const, message: 'enough' };
  await using t = await start(async function* () {
    yield { type: 'delta', text: 'one ' };
    yield { type: 'error', error };
    return RESULT;
  });
  const response = await t.gateway.post('/v1/chat/completions', JSON.stringify({ ...body, stream: true }), { token: TOKEN });
  const data = (await Array.fromAsync(readEvents(response))).map((event) => event.data);
  assert.deepEqual(
    data.slice(2).map((chunk) => (chunk as { error?: { message: string } }).error?.message ?? chunk),
    ['enough', '[DONE]'],
  );
});

test('cancels the turn when the client disconnects', async () => {
  for (const stream of [false, true]) {
    const started = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    await using t = await start(async function* (_asked, { signal }) {
      yield { type: 'delta', text: 'one ' };
      started.resolve();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      ended.resolve();
      throw new ServiceError('CANCELLED', 'left');
    });
    const disconnect = new AbortController();
    const completion = t.client.chat.completions
      .create({ ...body, stream }, { signal: disconnect.signal })
      .catch((error: unknown) => error);
    await started.promise;
    disconnect.abort();
    await ended.promise;
    await completion;
  }
});

test('returns an error object for invalid requests', async () => {
  await using t = await start(streamWords);
  const send = async (text: string, options: Parameters<typeof t.gateway.post>[2] = { token: TOKEN }) => {
    const response = await t.gateway.post('/v1/chat/completions', text, options);
    const { error } = (await response.json()) as { error: { message: string; type: string; param: string | null; code: null } };
    assert.equal(error.code, null);
    return [response.status, error.type, error.message, error.param];
  };
  const valid = JSON.stringify(body);
  assert.deepEqual(await send('{'), [400, 'invalid_request_error', 'Invalid JSON body', null]);
  assert.deepEqual(await send(JSON.stringify({ ...body, tools: [] })), [
    400,
    'invalid_request_error',
    `Invalid request: tools: expected no such parameter, got an unknown name. ${HINT}`,
    'tools',
  ]);
  assert.deepEqual(await send(valid, {}), [401, 'authentication_error', 'Unauthorized', null]);
  assert.deepEqual(await send(valid, { token: SECRETS.mcp }), [403, 'permission_error', 'Forbidden: insufficient scope', null]);
  assert.deepEqual(await send('x'.repeat(2_000_000)), [413, 'server_error', 'Request body too large', null]);
  const text = { token: TOKEN, headers: { 'content-type': 'text/plain' } };
  assert.deepEqual(await send(valid, text), [415, 'server_error', 'Content-Type must be application/json', null]);
  t.gateway.settings.set({ rateLimit: { maxRequests: 1, windowMs: 60_000 } });
  assert.deepEqual(await send(valid), [429, 'rate_limit_error', 'Rate limit exceeded', null]);
});

test('accepts a token with scope api', async () => {
  await using t = await start(streamWords);
  const secret = 'test-secret-that-holds-api-alone-00005';
  await t.gateway.putToken({ id: 'api', secret, scopes: ['api'] });
  const client = new OpenAI({ apiKey: secret, baseURL: `${t.gateway.url}/v1`, maxRetries: 0 });
  assert.ok((await client.chat.completions.create(body)).id);
  assert.equal((await client.models.list()).data.length, 2);
  assert.equal((await t.gateway.post('/api/chat', '{"message":"hi"}', { token: secret })).status, 403);
});

test('lists models and returns each by its raw or encoded id', async () => {
  await using t = await start(streamWords);
  const list = await t.client.models.list();
  const echo = { id: 'dev/echo', object: 'model', created: 0, owned_by: 'dev' };
  assert.deepEqual(list.data, [{ id: 'default', object: 'model', created: 0, owned_by: 'switchyard' }, echo]);
  assert.deepEqual({ ...(await t.client.models.retrieve('dev/echo')) }, echo);
  const get = async (path: string) => {
    const response = await fetch(`${t.gateway.url}/v1/models${path}`, { headers: { authorization: `Bearer ${TOKEN}` } });
    return [response.status, await response.json()];
  };
  assert.deepEqual(await get(''), [
    200,
    { object: 'list', data: [{ id: 'default', object: 'model', created: 0, owned_by: 'switchyard' }, echo] },
  ]);
  assert.deepEqual(await get('/dev/echo'), [200, echo]);
  assert.deepEqual(await get('/dev%2Fecho'), [200, echo]);
  const error = { message: 'Model not found', type: 'not_found_error', param: null, code: null };
  for (const path of ['/dev', '/', '/dev/echo/', `/${'x'.repeat(500)}`]) assert.deepEqual(await get(path), [404, { error }], path);
});
