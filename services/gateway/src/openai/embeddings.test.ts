import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import OpenAI, { APIError } from 'openai';
import type { Handler } from '@switchyard/bus';
import { registry, ServiceError } from '@switchyard/contracts';
import { SECRETS, startTestGateway } from '../gateway.fixture.ts';

type Answer = Handler<'models.embed'>;

const LENIENT = 'test-secret-of-a-token-that-is-lenient-6';
const VECTORS = [
  [0.1, -2, 3.5],
  [4, 0.7, 1e-9],
].map((vector) => Float32Array.from(vector));
const answer: Answer = () => ({ model: 'small-2', vectors: VECTORS.map(({ buffer }) => Buffer.from(buffer).toString('base64')) });

async function start(embed: Answer = answer) {
  const received: Parameters<Answer>[] = [];
  const gateway = await startTestGateway();
  const handler: Answer = (...args) => {
    received.push(args);
    return embed(...args);
  };
  await gateway.bus.serve(registry, { 'models.embed': handler }, { version: '0.0.0' });
  await gateway.putToken({ id: 'lenient', secret: LENIENT, scopes: ['api'], lenient: true });
  const client = (apiKey: string = SECRETS.rpc) => new OpenAI({ apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
  return { gateway, received, client, [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose]() };
}

async function catchApiError(call: Promise<unknown>): Promise<{ status: number | undefined; error: Record<string, unknown> }> {
  try {
    await call;
  } catch (error) {
    assert.ok(error instanceof APIError);
    return { status: error.status, error: error.error as Record<string, unknown> };
  }
  return assert.fail('the call succeeded');
}

test('returns vectors as numbers or base64, with estimated usage', async () => {
  await using t = await start();
  const input = ['one', 'twenty'];
  const numbers = VECTORS.map((vector) => [...vector]);
  const asNumbers = await t.client().embeddings.create({ model: 'small', input, encoding_format: 'float' });
  assert.deepEqual(asNumbers, {
    object: 'list',
    data: numbers.map((embedding, index) => ({ object: 'embedding', index, embedding })),
    model: 'small-2',
    usage: { prompt_tokens: 3, total_tokens: 3 },
  });
  // By default the package requests base64 and decodes it.
  const read = await t.client().embeddings.create({ model: 'small', input, dimensions: 3 });
  assert.deepEqual(
    read.data.map(({ embedding }) => embedding),
    numbers,
  );
  assert.deepEqual(
    t.received.map(([params]) => params),
    [
      { model: 'small', input },
      { model: 'small', input, dimensions: 3 },
    ],
  );
  const [, { principal }] = t.received[0] ?? assert.fail();
  assert.deepEqual([principal.client, principal.tenant], ['rpc', 'default'], 'the call is made as the client');
});

test('accepts a single text', async () => {
  await using t = await start(() => ({ model: 'm', vectors: ['AACAPw=='] }));
  const { data } = await t.client().embeddings.create({ model: 'm', input: 'hello' });
  assert.deepEqual([data[0]?.embedding, t.received[0]?.[0].input], [[1], ['hello']]);
});

test('returns a response of many megabytes completely', async () => {
  const vector = Buffer.alloc(4 * 3_072).toString('base64');
  await using t = await start(({ input }) => ({ model: 'm', vectors: input.map(() => vector) }));
  const { data } = await t.client().embeddings.create({ model: 'm', input: Array<string>(500).fill('x'), encoding_format: 'float' });
  assert.equal(data.length, 500);
  assert.ok(data.every(({ embedding }) => embedding.length === 3_072));
});

test('names invalid fields without calling a provider', async () => {
  await using t = await start();
  const wrong = [
    [{}, 'model'],
    [{ model: 'm' }, 'input'],
    [{ model: '', input: 'x' }, 'model'],
    [{ model: 'm', input: '' }, 'input'],
    [{ model: 'm', input: [] }, 'input'],
    [{ model: 'm', input: ['x', ''] }, 'input'],
    [{ model: 'm', input: [1, 2, 3] }, 'input'],
    [{ model: 'm', input: [[1, 2]] }, 'input'],
    [{ model: 'm', input: Array<string>(2_049).fill('x') }, 'input'],
    [{ model: 'm', input: 'x', encoding_format: 'hex' }, 'encoding_format'],
    [{ model: 'm', input: 'x', dimensions: 0 }, 'dimensions'],
    [{ model: 'm', input: 'x', user: 'ada' }, 'user'],
    [[], null],
    ['x', null],
  ] as const;
  for (const [body, param] of wrong) {
    const response = await t.gateway.post('/v1/embeddings', JSON.stringify(body), { token: SECRETS.rpc });
    const { error } = (await response.json()) as { error: { type: string; param: string | null; message: string } };
    assert.deepEqual([response.status, error.type, error.param], [400, 'invalid_request_error', param], JSON.stringify(body));
    assert.match(error.message, /^Invalid request: /);
  }
  assert.equal(t.received.length, 0);
});

test('the lenient path passes token ids on, and /v1 accepts texts only', async () => {
  await using t = await start(({ input }) => ({ model: 'm', vectors: input.map(() => 'AACAPw==') }));
  const cases = [
    [[1, 2, 3], [[1, 2, 3]], 3],
    [[[1, 2], [3]], [[1, 2], [3]], 3],
    [['text', [3]], ['text', [3]], 2],
  ] as const;
  for (const [input, expected, tokens] of cases) {
    const body = JSON.stringify({ model: 'm', input });
    const lenient = await t.gateway.post('/openai/v1/embeddings', body, { token: SECRETS.rpc });
    const { usage } = (await lenient.json()) as { usage: { prompt_tokens: number } };
    assert.deepEqual([t.received.at(-1)?.[0].input, usage.prompt_tokens], [expected, tokens]);
    const strict = await t.gateway.post('/v1/embeddings', body, { token: SECRETS.rpc });
    assert.equal(strict.status, 400);
    assert.match(await strict.text(), /Invalid request: input.*\/openai\/v1/);
  }
  for (const input of [[], [[]], [1.5], [-1], [1, 'x'], [{}]]) {
    const response = await t.gateway.post('/openai/v1/embeddings', JSON.stringify({ model: 'm', input }), { token: SECRETS.rpc });
    assert.equal(response.status, 400, JSON.stringify(input));
  }
  assert.equal(t.received.length, cases.length);
});

test('a lenient token may send unsupported fields; other tokens get a hint', async () => {
  await using t = await start();
  const body = { model: 'm', input: 'x', user: 'ada' };
  await t.client(LENIENT).embeddings.create(body);
  const { error } = await catchApiError(t.client().embeddings.create(body));
  assert.match(String(error['message']), /A lenient token accepts this request/);
});

test('returns failures with OpenAI statuses and messages', async () => {
  let failure = new ServiceError('NOT_FOUND', 'No embedding provider configured', { details: { reason: 'NO_EMBEDDER' } });
  await using t = await start(() => {
    throw failure;
  });
  const requestFailure = async () => {
    const { status, error } = await catchApiError(t.client().embeddings.create({ model: 'm', input: 'x' }));
    return [status, error['message'], error['type'], error['param']];
  };
  assert.deepEqual(await requestFailure(), [404, 'No embedding provider configured', 'not_found_error', null]);
  failure = new ServiceError('NOT_FOUND', 'provider local does not know the model', { details: { reason: 'MODEL_NOT_FOUND' } });
  assert.deepEqual(await requestFailure(), [404, 'Model not found', 'not_found_error', null]);
  const issues = [{ path: 'dimensions', expected: 'less', received: 'more', message: 'dimensions: expected less, got more' }];
  failure = new ServiceError('INVALID_ARGUMENT', 'too many', { details: { issues } });
  assert.deepEqual(await requestFailure(), [400, 'too many', 'invalid_request_error', 'dimensions']);
  failure = new ServiceError('RESOURCE_EXHAUSTED', 'over its limit', { details: { retryAfterMs: 1_500 } });
  assert.deepEqual(await requestFailure(), [429, 'over its limit', 'rate_limit_error', null]);
});

test('cancels the call when the client disconnects', async () => {
  const ended = Promise.withResolvers<void>();
  await using t = await start(async (_, { signal }) => {
    disconnect.abort();
    await once(signal, 'abort');
    ended.resolve();
    throw new ServiceError('CANCELLED', 'left');
  });
  const disconnect = new AbortController();
  await assert.rejects(t.client().embeddings.create({ model: 'm', input: 'x' }, { signal: disconnect.signal }));
  await ended.promise;
});
