import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { startUpstream } from '@switchyard/testkit';
import type { ModelPart, ModelRequest, Models } from './index.ts';
import { against, KEY, LOCAL, open, request, run, TEXT } from './models.fixture.ts';

function textOf(parts: readonly ModelPart[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

async function fails(
  models: Models,
  expected: { code: string; reason: string; message?: RegExp },
  asked?: ModelRequest,
): Promise<ModelPart[]> {
  const { parts, error } = await run(models, asked);
  const { code, reason, message = /./ } = expected;
  assert.throws(
    () => {
      throw error;
    },
    { name: 'ServiceError', code, message },
  );
  assert.equal((error as { details: { reason?: string } }).details.reason, reason);
  return parts;
}

test('text streams as it comes, and the finish carries the usage and its price', async () => {
  await using upstream = await startUpstream(TEXT);

  const { parts, error } = await run(against(upstream), request({ system: 'be brief', temperature: 0.5, maxTokens: 64 }));

  assert.equal(error, undefined);
  assert.equal(textOf(parts), 'one two three');
  assert.ok(parts.slice(0, -1).every(({ type }) => type === 'text'));
  assert.deepEqual(parts.at(-1), {
    type: 'finish',
    reason: 'stop',
    usage: { input: 1_000, output: 200, cacheRead: 400 },
    costUsd: (600 * 1 + 400 * 0.5 + 200 * 10) / 1e6,
  });
  const [{ headers, body, path } = assert.fail('no request')] = upstream.requests;
  assert.equal(path, '/v1/chat/completions');
  assert.equal(headers.authorization, `Bearer ${KEY}`);
  assert.deepEqual(body, {
    model: 'small',
    max_tokens: 64,
    temperature: 0.5,
    stream: true,
    stream_options: { include_usage: true },
    messages: [
      { role: 'system', content: 'be brief' },
      { role: 'user', content: 'hi' },
    ],
  });
});

test('429 is retried when its Retry-After says, and the second answer is the answer', async () => {
  await using upstream = await startUpstream({ kind: 'status', status: 429, headers: { 'retry-after-ms': '120' } }, TEXT);
  const startedAt = performance.now();

  const { parts } = await run(against(upstream));

  assert.equal(textOf(parts), 'one two three');
  assert.equal(upstream.requests.length, 2);
  assert.ok(performance.now() - startedAt >= 115);
});

test('429 for ever fails RESOURCE_EXHAUSTED and says when to come back', async () => {
  await using upstream = await startUpstream({ kind: 'status', status: 429, headers: { 'retry-after': '0' }, message: `slow, ${KEY}` });

  const { error } = await run(against(upstream));

  assert.ok(error instanceof ServiceError && error.code === 'RESOURCE_EXHAUSTED');
  assert.deepEqual(error.details, { reason: 'PROVIDER_RATE_LIMITED', status: 429, retryAfterMs: 0, rate: true });
  assert.equal(upstream.requests.length, 3);
  assert.ok(!error.message.includes(KEY));
});

test('a Retry-After beyond the prompt timeout is not waited for', async () => {
  await using upstream = await startUpstream({ kind: 'status', status: 429, headers: { 'retry-after': '60' } });

  const { error } = await run(against(upstream));

  assert.equal(error instanceof ServiceError && error.details.retryAfterMs, 60_000);
  assert.equal(upstream.requests.length, 1);
});

test('an exhausted quota is not retried', async () => {
  await using upstream = await startUpstream({ kind: 'status', status: 429, code: 'insufficient_quota' });

  await fails(against(upstream), { code: 'RESOURCE_EXHAUSTED', reason: 'PROVIDER_QUOTA' });
  assert.equal(upstream.requests.length, 1);
});

test('a 500 is retried; for ever, it is UNAVAILABLE after the attempts of the entry', async () => {
  await using upstream = await startUpstream({ kind: 'status', status: 500 }, TEXT);
  assert.equal(textOf((await run(against(upstream))).parts), 'one two three');

  upstream.respond({ kind: 'status', status: 503 });
  await fails(against(upstream, { maxRetries: 1 }), { code: 'UNAVAILABLE', reason: 'PROVIDER_UNAVAILABLE' });
  assert.equal(upstream.requests.length, 4);
});

test('a stream cut in the middle is an error, and is not tried again', async () => {
  await using upstream = await startUpstream({ kind: 'cut', text: 'one two three', afterTokens: 2 });

  const parts = await fails(against(upstream), { code: 'UNAVAILABLE', reason: 'STREAM_CUT' });

  assert.equal(textOf(parts), 'one two ');
  assert.equal(upstream.requests.length, 1);
});

test('a stream that ends cleanly without a finish is a cut too', async () => {
  await using upstream = await startUpstream({ kind: 'unfinished', text: 'one two' });

  const parts = await fails(against(upstream), { code: 'UNAVAILABLE', reason: 'STREAM_CUT' });
  assert.equal(textOf(parts), 'one two');
});

test('an upstream that gives up and calls it a finish is a cut', async () => {
  await using upstream = await startUpstream({ kind: 'text', text: 'one', finish: 'error' });

  await fails(against(upstream), { code: 'UNAVAILABLE', reason: 'STREAM_CUT' });
});

test('half a tool call is never delivered', async () => {
  for (const end of ['cut', 'clean'] as const) {
    await using upstream = await startUpstream({ kind: 'half-call', name: 'find', arguments: '{"q":"x"}', end });
    const parts = await fails(against(upstream, { maxRetries: 0 }), { code: 'UNAVAILABLE', reason: 'STREAM_CUT' });
    assert.deepEqual(parts, []);
  }
});

test('a cut before the first token is tried again', async () => {
  await using upstream = await startUpstream({ kind: 'cut', text: '', afterTokens: 0 }, TEXT);

  assert.equal(textOf((await run(against(upstream))).parts), 'one two three');
});

test('garbage and answers that are no stream are BAD_RESPONSE, once', async () => {
  for (const behaviour of [{ kind: 'garbage' }, { kind: 'json', text: 'hi' }] as const) {
    await using upstream = await startUpstream(behaviour);
    await fails(against(upstream), { code: 'UNAVAILABLE', reason: 'BAD_RESPONSE' });
    assert.equal(upstream.requests.length, 1);
  }
});

test('an error frame is the error it would have been as a status', async () => {
  await using upstream = await startUpstream({
    kind: 'frame-error',
    text: 'one',
    error: { message: 'too much', type: 'rate_limit_error' },
  });
  await fails(against(upstream), { code: 'RESOURCE_EXHAUSTED', reason: 'PROVIDER_RATE_LIMITED', message: /too much/ });

  upstream.respond({ kind: 'frame-error', error: { message: 'down', code: 502 } }, TEXT);
  assert.equal(textOf((await run(against(upstream))).parts), 'one two three');
});

test('a refused key names the provider and the secret, never the key', async () => {
  await using upstream = await startUpstream({ kind: 'status', status: 401, message: `Incorrect API key provided: ${KEY}` });

  const message = /^provider local refused the key LOCAL_KEY$/;
  await fails(against(upstream), { code: 'FAILED_PRECONDITION', reason: 'PROVIDER_AUTH', message });
  assert.equal(upstream.requests.length, 1);
});

test('a refused key is asked for again, so that a new one is used at once', async () => {
  await using upstream = await startUpstream({ kind: 'status', status: 401 }, TEXT);
  let key = 'old';
  const models = against(upstream, {}, { secret: async (name) => (name === 'LOCAL_KEY' ? key : null) });
  await fails(models, { code: 'FAILED_PRECONDITION', reason: 'PROVIDER_AUTH' });

  key = 'new';
  assert.equal(textOf((await run(models)).parts), 'one two three');
  assert.equal(upstream.requests[1]?.headers.authorization, 'Bearer new');
});

test('what cannot be a key is said before anything is sent, without repeating it', async () => {
  await using upstream = await startUpstream(TEXT);

  const message = /^the secret LOCAL_KEY has characters that are in no key: set it again$/;
  for (const key of ['…', 'sk-two words', 'sk-two\nlines']) {
    await fails(against(upstream, {}, { secret: async () => key }), { code: 'FAILED_PRECONDITION', reason: 'PROVIDER_AUTH', message });
  }
  assert.equal(upstream.requests.length, 0);
});

test('a missing key is said before anything is sent', async () => {
  await using upstream = await startUpstream(TEXT);

  const message = /provider local has no key: set the secret OTHER_KEY/;
  await fails(against(upstream, { apiKeyName: 'OTHER_KEY' }), { code: 'FAILED_PRECONDITION', reason: 'PROVIDER_AUTH', message });
  assert.equal(upstream.requests.length, 0);
});

test('a refused request and an unknown model say what the upstream said', async () => {
  await using upstream = await startUpstream({ kind: 'status', status: 400, message: 'temperature is not supported' });
  await fails(against(upstream), { code: 'FAILED_PRECONDITION', reason: 'PROVIDER_REJECTED', message: /temperature is not supported/ });

  upstream.respond({ kind: 'status', status: 404, message: 'no such model' });
  await fails(against(upstream), { code: 'NOT_FOUND', reason: 'MODEL_NOT_FOUND', message: /no such model/ });
});

test('a redirect is refused: the key goes to the configured origin only', async () => {
  await using elsewhere = await startUpstream(TEXT);
  await using upstream = await startUpstream({ kind: 'redirect', to: `${elsewhere.url}/chat/completions` });

  await fails(against(upstream, { headers: { 'x-api-key': KEY } }), { code: 'FAILED_PRECONDITION', reason: 'PROVIDER_REJECTED' });
  assert.equal(elsewhere.requests.length, 0);
});

test('silence before the first token is MODEL_STALLED, and the connection is given up', async () => {
  await using upstream = await startUpstream({ kind: 'stall' });

  const models = against(upstream);
  await fails(models, { code: 'DEADLINE_EXCEEDED', reason: 'MODEL_STALLED' }, request({ promptTimeoutMs: 100 }));
  await upstream.abandoned;
  assert.equal(upstream.requests.length, 1);
});

test('silence in the middle is MODEL_STALLED too', async () => {
  await using upstream = await startUpstream({ kind: 'stall', text: 'one two', afterTokens: 1 });

  const parts = await fails(against(upstream), { code: 'DEADLINE_EXCEEDED', reason: 'MODEL_STALLED' }, request({ promptTimeoutMs: 500 }));
  assert.equal(textOf(parts), 'one ');
});

test('an attempt that gets no answer in the entry’s time is given up for another', async () => {
  await using upstream = await startUpstream({ kind: 'stall' }, TEXT);

  assert.equal(textOf((await run(against(upstream, { timeoutMs: 400 }))).parts), 'one two three');
});

test('cancelling ends the call and the connection', async () => {
  await using upstream = await startUpstream({ kind: 'stall', text: 'one two', afterTokens: 1 });
  const abort = new AbortController();
  const parts = against(upstream).stream(request({ signal: abort.signal }));

  assert.deepEqual((await parts.next()).value, { type: 'text', text: 'one ' });
  abort.abort();

  await assert.rejects(parts.next(), { code: 'CANCELLED' });
  await upstream.abandoned;
});

test('leaving the loop ends the connection', async () => {
  await using upstream = await startUpstream({ kind: 'stall', text: 'one two', afterTokens: 1 });

  for await (const part of against(upstream).stream(request())) {
    assert.equal(part.type, 'text');
    break;
  }

  await upstream.abandoned;
});

test('whoever is told leaves by saying so: the connection ends, and nobody watches over the call any more', async () => {
  await using upstream = await startUpstream({ kind: 'stall', text: 'one two three', afterTokens: 2 });
  const { signal } = new AbortController();
  const heard: string[] = [];

  const end = await against(upstream).streamTo(request({ signal }), (text) => {
    heard.push(text);
    return false;
  });

  assert.equal(end, undefined);
  assert.equal(heard.length, 1);
  assert.equal(getEventListeners(signal, 'abort').length, 0);
  await upstream.abandoned;
});

test('an address nobody answers at is UNAVAILABLE', async () => {
  const upstream = await startUpstream();
  await upstream[Symbol.asyncDispose]();

  const message = /cannot be reached \(ECONNREFUSED\)/;
  await fails(against(upstream), { code: 'UNAVAILABLE', reason: 'PROVIDER_UNREACHABLE', message });
});

test('an upstream that counts no tokens is counted for', async () => {
  await using upstream = await startUpstream({ kind: 'text', text: 'x'.repeat(40), usage: 'none' });

  const { parts } = await run(against(upstream));

  const finish = parts.at(-1);
  assert.ok(finish?.type === 'finish' && finish.usage.output === 10 && finish.usage.input > 0);
});

test('one tiny completion proves a model', async () => {
  await using upstream = await startUpstream(TEXT, { kind: 'status', status: 500 });
  const models = against(upstream);

  const good = await models.test(LOCAL);
  assert.equal(good.ok, true);

  const bad = await models.test(LOCAL);
  assert.equal(bad.ok, false);
  assert.match(bad.error ?? '', /failed \(500\)/);
  assert.equal(upstream.requests.length, 2);
});

test('an address in the environment that is none is told at the start', () => {
  for (const url of [':::', 'localhost:11434', 'http://'])
    assert.throws(() => open({ env: { OPENAI_BASE_URL: url } }), /OPENAI_BASE_URL must be an http:\/\/ or https:\/\/ URL/);
});
