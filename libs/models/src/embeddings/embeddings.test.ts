import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { startUpstream, type UpstreamBehaviour } from '@switchyard/testkit';
import { against, KEY, LOCAL, open } from '../models.fixture.ts';
import type { EmbedRequest, Models } from '../index.ts';

const VECTORS = [
  [1, 0.5, -2],
  [0, 0.25, 3],
];
const data = (vectors: readonly unknown[]) => vectors.map((embedding, index) => ({ object: 'embedding', index, embedding }));
const answer = (body: object): UpstreamBehaviour => ({ kind: 'answer', body });
const NUMBERS = answer({ data: data(VECTORS), model: 'small-2', usage: { prompt_tokens: 4 } });
const asBase64 = (vector: readonly number[]) => Buffer.from(Float32Array.from(vector).buffer).toString('base64');

function createRequest(rest: Partial<EmbedRequest> = {}): EmbedRequest {
  return { model: LOCAL, input: ['one', 'two'], signal: new AbortController().signal, promptTimeoutMs: 5_000, ...rest };
}

async function failure(models: Models, request = createRequest()): Promise<ServiceError> {
  try {
    await models.embed(request);
  } catch (error) {
    assert.ok(error instanceof ServiceError);
    return error;
  }
  return assert.fail('it answered');
}

test('embed returns vectors with tokens and cost', async () => {
  await using upstream = await startUpstream(NUMBERS);
  const answered = await against(upstream).embed(createRequest({ dimensions: 3 }));
  assert.deepEqual(answered, { vectors: VECTORS.map(asBase64), model: 'small-2', tokens: 4, costUsd: 4e-6 });
  const [{ path, headers, body } = assert.fail('no request')] = upstream.requests;
  assert.deepEqual([path, headers.authorization], ['/v1/embeddings', `Bearer ${KEY}`]);
  assert.deepEqual(body, { model: 'small', input: ['one', 'two'], dimensions: 3, encoding_format: 'base64' });
});

test('embed sends token ids, and estimates their number', async () => {
  await using upstream = await startUpstream(answer({ data: data(VECTORS) }));
  const input = [[1, 2, 3], 'four'];
  const { tokens } = await against(upstream).embed(createRequest({ input }));
  assert.deepEqual([upstream.requests[0]?.body['input'], tokens], [input, 4]);
});

test('embed accepts base64 vectors in any order', async () => {
  await using upstream = await startUpstream(answer({ data: data(VECTORS.map(asBase64)).toReversed() }));
  const { vectors, model, tokens } = await against(upstream).embed(createRequest());
  assert.deepEqual([vectors, model, tokens], [VECTORS.map(asBase64), 'small', 2], 'four characters a token where nobody counted');
});

test('embed rejects missing, duplicate and unequal vectors', async () => {
  const [one, two] = VECTORS;
  const same = { index: 0, embedding: one };
  const wrong: unknown[] = [
    null,
    [],
    {},
    { data: data([one]) },
    { data: [same, same] },
    { data: [same, { index: 2, embedding: two }] },
    { data: [same, { index: 0.5, embedding: two }] },
    { data: data([one, []]) },
    { data: data([one, [1, 2]]) },
    { data: data([one, ['1', '2', '3']]) },
    { data: data([one, 'AAA=']) },
    { data: data([one, asBase64([NaN, 1, 2])]) },
    { data: data([one, [1e300, 1, 2]]) },
  ];
  await using upstream = await startUpstream();
  for (const body of wrong) {
    upstream.respond({ kind: 'answer', body });
    const { code, details } = await failure(against(upstream));
    assert.deepEqual([code, details.reason], ['UNAVAILABLE', 'BAD_RESPONSE'], JSON.stringify(body));
  }
  assert.equal(upstream.requests.length, wrong.length, 'what is not the protocol is not asked for again');
});

test('embed maps failures and retries transient ones', async () => {
  await using upstream = await startUpstream({ kind: 'status', status: 503 }, NUMBERS);
  assert.equal((await against(upstream).embed(createRequest())).vectors.length, 2);
  const cases = [
    [401, 'FAILED_PRECONDITION', 'PROVIDER_AUTH'],
    [404, 'NOT_FOUND', 'MODEL_NOT_FOUND'],
    [400, 'FAILED_PRECONDITION', 'PROVIDER_REJECTED'],
    [429, 'RESOURCE_EXHAUSTED', 'PROVIDER_RATE_LIMITED'],
  ] as const;
  for (const [status, code, reason] of cases) {
    upstream.respond({ kind: 'status', status, message: `no, ${KEY}` });
    const error = await failure(against(upstream, { maxRetries: 0 }));
    assert.deepEqual([error.code, error.details.reason], [code, reason]);
    assert.ok(!error.message.includes(KEY));
  }
});

test('embed fails on connection errors, stalls and cancellation', async () => {
  const models = open({ entries: { local: { type: 'openai-compatible', baseUrl: 'http://127.0.0.1:9/v1', maxRetries: 0 } } });
  assert.equal((await failure(models)).details.reason, 'PROVIDER_UNREACHABLE');
  await using upstream = await startUpstream({ kind: 'cut', text: 'a b', afterTokens: 1 });
  assert.equal((await failure(against(upstream, { maxRetries: 0 }))).details.reason, 'PROVIDER_UNREACHABLE');
  upstream.respond({ kind: 'stall' });
  assert.equal((await failure(against(upstream), createRequest({ promptTimeoutMs: 50 }))).details.reason, 'MODEL_STALLED');
  const leaving = new AbortController();
  const left = failure(against(upstream), createRequest({ signal: leaving.signal }));
  leaving.abort();
  assert.equal((await left).code, 'CANCELLED');
});

test('embed fails for development models', async () => {
  const { code, details } = await failure(open({}), createRequest({ model: { provider: 'dev', modelId: 'echo' } }));
  assert.deepEqual([code, details.reason], ['NOT_FOUND', 'MODEL_NOT_FOUND']);
});

test('embedder resolves names of embedding models', async () => {
  const entry = { type: 'openai-compatible', baseUrl: 'http://127.0.0.1:9/v1' };
  const entries = { first: { ...entry, models: [{ id: 'mine' }] }, second: { ...entry, models: [{ id: 'other' }] } };
  const keys = (...set: string[]) => ({ secret: async (name: string) => (set.includes(name) ? 'sk-0123456789' : null) });
  const aliases = [{ alias: 'short', provider: 'second', modelId: 'long-name' }];
  const all = open({ entries, models: { aliases }, ...keys('OPENAI_API_KEY', 'ANTHROPIC_API_KEY') });
  const cases = [
    [all, 'second/any', 'any', { provider: 'second', modelId: 'any' }],
    [all, 'other', 'any', { provider: 'second', modelId: 'other' }],
    [all, 'short', 'any', { provider: 'second', modelId: 'long-name' }],
    [all, 'text-embedding-3-small', 'any', { provider: 'openai', modelId: 'text-embedding-3-small' }],
    [all, 'text-embedding-3-small', { provider: 'second' }, { provider: 'second', modelId: 'text-embedding-3-small' }],
    [all, 'text-embedding-3-small', { provider: 'nobody' }, undefined],
    [all, 'text-embedding-3-small', 'none', undefined],
    [all, 'other', 'none', { provider: 'second', modelId: 'other' }],
    [open({ entries }), 'unknown', 'any', { provider: 'first', modelId: 'unknown' }],
    [open({}), 'dev/echo', 'any', undefined],
    [open(keys('ANTHROPIC_API_KEY')), 'anthropic/claude', 'any', undefined],
  ] as const;
  for (const [models, name, standard, expected] of cases) assert.deepEqual(await models.embedder(name, standard), expected, name);
});
