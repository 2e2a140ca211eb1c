import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { startUpstream } from '@switchyard/testkit';
import type { ModelPart, ModelRequest, Models } from './index.ts';
import { against, KEY, LOCAL, open, request, run, TEXT } from './models.fixture.ts';

function getText(parts: readonly ModelPart[]): string {
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

test('streams text and ends with usage and price', async () => {
  await using upstream = await startUpstream(TEXT);

  const { parts, error } = await run(against(upstream), request({ system: 'be brief', temperature: 0.5, maxTokens: 64 }));

  assert.equal(error, undefined);
  assert.equal(getText(parts), 'one two three');
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

test('retries 429 after Retry-After', async () => {
  await using upstream = await startUpstream({ kind: 'status', status: 429, headers: { 'retry-after-ms': '120' } }, TEXT);
  const startedAt = performance.now();

  const { parts } = await run(against(upstream));

  assert.equal(getText(parts), 'one two three');
  assert.equal(upstream.requests.length, 2);
  assert.ok(performance.now() - startedAt >= 115);
});

test('fails RESOURCE_EXHAUSTED with retryAfterMs after repeated 429', async () => {
  await using upstream = await startUpstream({ kind: 'status', status: 429, headers: { 'retry-after': '0' }, message: `slow, ${KEY}` });

  const { error } = await run(against(upstream));

  assert.ok(error instanceof ServiceError && error.code === 'RESOURCE_EXHAUSTED');
  assert.deepEqual(error.details, { reason: 'PROVIDER_RATE_LIMITED', status: 429, retryAfterMs: 0, rate: true });
  assert.equal(upstream.requests.length, 3);
  assert.ok(!error.message.includes(KEY));
});

test('does not wait for a Retry-After beyond the prompt timeout', async () => {
  await using upstream = await startUpstream({ kind: 'status', status: 429, headers: { 'retry-after': '60' } });

  const { error } = await run(against(upstream));

  assert.equal(error instanceof ServiceError && error.details.retryAfterMs, 60_000);
  assert.equal(upstream.requests.length, 1);
});

test('does not retry an exhausted quota', async () => {
  await using upstream = await startUpstream({ kind: 'status', status: 429, code: 'insufficient_quota' });

  await fails(against(upstream), { code: 'RESOURCE_EXHAUSTED', reason: 'PROVIDER_QUOTA' });
  assert.equal(upstream.requests.length, 1);
});

test('retries 500 and fails UNAVAILABLE after maxRetries', async () => {
  await using upstream = await startUpstream({ kind: 'status', status: 500 }, TEXT);
  assert.equal(getText((await run(against(upstream))).parts), 'one two three');

  upstream.respond({ kind: 'status', status: 503 });
  await fails(against(upstream, { maxRetries: 1 }), { code: 'UNAVAILABLE', reason: 'PROVIDER_UNAVAILABLE' });
  assert.equal(upstream.requests.length, 4);
});

test('fails on a stream that breaks after text, without a retry', async () => {
  await using upstream = await startUpstream({ kind: 'cut', text: 'one two three', afterTokens: 2 });

  const parts = await fails(against(upstream), { code: 'UNAVAILABLE', reason: 'STREAM_CUT' });

  assert.equal(getText(parts), 'one two ');
  assert.equal(upstream.requests.length, 1);
});

test('fails STREAM_CUT when a stream ends without a finish', async () => {
  await using upstream = await startUpstream({ kind: 'unfinished', text: 'one two' });

  const parts = await fails(against(upstream), { code: 'UNAVAILABLE', reason: 'STREAM_CUT' });
  assert.equal(getText(parts), 'one two');
});

test('fails STREAM_CUT for finish reasons of an aborted response', async () => {
  await using upstream = await startUpstream({ kind: 'text', text: 'one', finish: 'error' });

  await fails(against(upstream), { code: 'UNAVAILABLE', reason: 'STREAM_CUT' });
});

test('does not deliver an incomplete tool call', async () => {
  for (const end of ['cut', 'clean'] as const) {
    await using upstream = await startUpstream({ kind: 'half-call', name: 'find', arguments: '{"q":"x"}', end });
    const parts = await fails(against(upstream, { maxRetries: 0 }), { code: 'UNAVAILABLE', reason: 'STREAM_CUT' });
    assert.deepEqual(parts, []);
  }
});

test('retries a stream that breaks before the first token', async () => {
  await using upstream = await startUpstream({ kind: 'cut', text: '', afterTokens: 0 }, TEXT);

  assert.equal(getText((await run(against(upstream))).parts), 'one two three');
});

test('fails BAD_RESPONSE for invalid responses without a retry', async () => {
  await using upstream = await startUpstream({ kind: 'garbage' });
  await fails(against(upstream), { code: 'UNAVAILABLE', reason: 'BAD_RESPONSE' });
  assert.equal(upstream.requests.length, 1);
});

test('reads a JSON completion as the answer to a streamed request', async () => {
  await using upstream = await startUpstream({ kind: 'json', text: 'hi' });
  assert.equal(getText((await run(against(upstream))).parts), 'hi');
});

test('converts error frames like HTTP errors', async () => {
  await using upstream = await startUpstream({
    kind: 'frame-error',
    text: 'one',
    error: { message: 'too much', type: 'rate_limit_error' },
  });
  await fails(against(upstream), { code: 'RESOURCE_EXHAUSTED', reason: 'PROVIDER_RATE_LIMITED', message: /too much/ });

  upstream.respond({ kind: 'frame-error', error: { message: 'down', code: 502 } }, TEXT);
  assert.equal(getText((await run(against(upstream))).parts), 'one two three');
});

test('names provider and secret, but not the key, when a key is rejected', async () => {
  await using upstream = await startUpstream({ kind: 'status', status: 401, message: `Incorrect API key provided: ${KEY}` });

  const message = /^provider local refused the key LOCAL_KEY$/;
  await fails(against(upstream), { code: 'FAILED_PRECONDITION', reason: 'PROVIDER_AUTH', message });
  assert.equal(upstream.requests.length, 1);
});

test('reads a rejected key again', async () => {
  await using upstream = await startUpstream({ kind: 'status', status: 401 }, TEXT);
  let key = 'old';
  const models = against(upstream, {}, { secret: async (name) => (name === 'LOCAL_KEY' ? key : null) });
  await fails(models, { code: 'FAILED_PRECONDITION', reason: 'PROVIDER_AUTH' });

  key = 'new';
  assert.equal(getText((await run(models)).parts), 'one two three');
  assert.equal(upstream.requests[1]?.headers.authorization, 'Bearer new');
});

test('rejects an invalid key before sending, without repeating it', async () => {
  await using upstream = await startUpstream(TEXT);

  const message = /^the secret LOCAL_KEY contains invalid characters: set it again$/;
  for (const key of ['…', 'sk-two words', 'sk-two\nlines']) {
    await fails(against(upstream, {}, { secret: async () => key }), { code: 'FAILED_PRECONDITION', reason: 'PROVIDER_AUTH', message });
  }
  assert.equal(upstream.requests.length, 0);
});

test('rejects a missing key before sending', async () => {
  await using upstream = await startUpstream(TEXT);

  const message = /provider local has no key: set the secret OTHER_KEY/;
  await fails(against(upstream, { apiKeyName: 'OTHER_KEY' }), { code: 'FAILED_PRECONDITION', reason: 'PROVIDER_AUTH', message });
  assert.equal(upstream.requests.length, 0);
});

test('includes the provider message for rejected requests and unknown models', async () => {
  await using upstream = await startUpstream({ kind: 'status', status: 400, message: 'temperature is not supported' });
  await fails(against(upstream), { code: 'FAILED_PRECONDITION', reason: 'PROVIDER_REJECTED', message: /temperature is not supported/ });

  upstream.respond({ kind: 'status', status: 404, message: 'no such model' });
  await fails(against(upstream), { code: 'NOT_FOUND', reason: 'MODEL_NOT_FOUND', message: /no such model/ });
});

test('rejects redirects', async () => {
  await using elsewhere = await startUpstream(TEXT);
  await using upstream = await startUpstream({ kind: 'redirect', to: `${elsewhere.url}/chat/completions` });

  await fails(against(upstream, { headers: { 'x-api-key': KEY } }), { code: 'FAILED_PRECONDITION', reason: 'PROVIDER_REJECTED' });
  assert.equal(elsewhere.requests.length, 0);
});

test('fails MODEL_STALLED on silence before the first token', async () => {
  await using upstream = await startUpstream({ kind: 'stall' });

  const models = against(upstream);
  await fails(models, { code: 'DEADLINE_EXCEEDED', reason: 'MODEL_STALLED' }, request({ promptTimeoutMs: 100 }));
  await upstream.abandoned;
  assert.equal(upstream.requests.length, 1);
});

test('fails MODEL_STALLED on silence inside a stream', async () => {
  await using upstream = await startUpstream({ kind: 'stall', text: 'one two', afterTokens: 1 });

  const parts = await fails(against(upstream), { code: 'DEADLINE_EXCEEDED', reason: 'MODEL_STALLED' }, request({ promptTimeoutMs: 500 }));
  assert.equal(getText(parts), 'one ');
});

test('retries an attempt that exceeds timeoutMs', async () => {
  await using upstream = await startUpstream({ kind: 'stall' }, TEXT);

  assert.equal(getText((await run(against(upstream, { timeoutMs: 400 }))).parts), 'one two three');
});

test('closes the connection on cancel', async () => {
  await using upstream = await startUpstream({ kind: 'stall', text: 'one two', afterTokens: 1 });
  const abort = new AbortController();
  const parts = against(upstream).stream(request({ signal: abort.signal }));

  assert.deepEqual((await parts.next()).value, { type: 'text', text: 'one ' });
  abort.abort();

  await assert.rejects(parts.next(), { code: 'CANCELLED' });
  await upstream.abandoned;
});

test('closes the connection when the reader leaves', async () => {
  await using upstream = await startUpstream({ kind: 'stall', text: 'one two', afterTokens: 1 });

  for await (const part of against(upstream).stream(request())) {
    assert.equal(part.type, 'text');
    break;
  }

  await upstream.abandoned;
});

test('streamTo closes the connection and clears its timer when the callback returns false', async () => {
  await using upstream = await startUpstream({ kind: 'stall', text: 'one two three', afterTokens: 2 });
  const { signal } = new AbortController();
  const receivedMessages: string[] = [];

  const end = await against(upstream).streamTo(request({ signal }), (text) => {
    receivedMessages.push(text);
    return false;
  });

  assert.equal(end, undefined);
  assert.equal(receivedMessages.length, 1);
  assert.equal(getEventListeners(signal, 'abort').length, 0);
  await upstream.abandoned;
});

test('fails UNAVAILABLE for an unreachable address', async () => {
  const upstream = await startUpstream();
  await upstream[Symbol.asyncDispose]();

  const message = /cannot be reached \(ECONNREFUSED\)/;
  await fails(against(upstream), { code: 'UNAVAILABLE', reason: 'PROVIDER_UNREACHABLE', message });
});

test('estimates tokens if the provider reports none', async () => {
  await using upstream = await startUpstream({ kind: 'text', text: 'x'.repeat(40), usage: 'none' });

  const { parts } = await run(against(upstream));

  const finish = parts.at(-1);
  assert.ok(finish?.type === 'finish' && finish.usage.output === 10 && finish.usage.input > 0);
});

test('test requests a short completion', async () => {
  await using upstream = await startUpstream(TEXT, { kind: 'status', status: 500 });
  const models = against(upstream);

  const good = await models.test(LOCAL);
  assert.equal(good.ok, true);

  const bad = await models.test(LOCAL);
  assert.equal(bad.ok, false);
  assert.match(bad.error ?? '', /failed \(500\)/);
  assert.equal(upstream.requests.length, 2);
});

test('createModels throws for an invalid OPENAI_BASE_URL', () => {
  for (const url of [':::', 'localhost:11434', 'http://'])
    assert.throws(() => open({ env: { OPENAI_BASE_URL: url } }), /OPENAI_BASE_URL must be an http:\/\/ or https:\/\/ URL/);
});
