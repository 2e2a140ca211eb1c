import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { MEDIA_USAGE } from '@switchyard/contracts';
import { encodeWav } from '@switchyard/models';
import type { TestService } from '@switchyard/testkit';
import { testMedia } from '../media.fixture.ts';

const TIMEOUT = { timeout: 60_000 };
const WAV = Buffer.from(encodeWav(new Int16Array(2_400), 24_000));
const KEY = 'sk-for-this-test-only';

interface Provider extends AsyncDisposable {
  url: string;
  requests: { path: string; authorization: string | undefined; body: Buffer }[];
}

/** A server that speaks the protocol of OpenAI's audio and images, at an address of the operator. */
async function startProvider(handle: RequestListener): Promise<Provider> {
  const requests: Provider['requests'] = [];
  const server = createServer((request: IncomingMessage, response) => {
    void buffer(request).then((body) => {
      requests.push({ path: request.url ?? '', authorization: request.headers.authorization, body });
      handle(request, response);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

const json =
  (body: unknown): RequestListener =>
  (_, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));

test('transcribes with a server of the OpenAI protocol and asks once a day for the same bytes', TIMEOUT, async () => {
  await using provider = await startProvider(json({ text: 'Remind me at nine.', usage: { type: 'duration', seconds: 2 } }));
  await using app = await testMedia({ env: { OPENAI_BASE_URL: provider.url }, secrets: { OPENAI_API_KEY: KEY } });
  const params = { audio: WAV.toString('base64'), language: 'en' };
  const [first, second] = [await app.bus.call('audio.transcribe', params), await app.bus.call('audio.transcribe', params)];
  assert.deepEqual(first, { text: 'Remind me at nine.', durationMs: 2_000 });
  assert.deepEqual(second, first);
  assert.equal(provider.requests.length, 1);
  const [request] = provider.requests;
  assert.deepEqual([request?.path, request?.authorization], ['/v1/audio/transcriptions', `Bearer ${KEY}`]);
  assert.match(request?.body.toString('latin1') ?? '', /name="model"\r\n\r\ngpt-4o-mini-transcribe[\s\S]*filename="audio\.wav"/);
});

test('asks the fallback after a failure, and lists each attempt when all fail', TIMEOUT, async () => {
  await using broken = await startProvider((_, response) =>
    response.writeHead(500, { 'content-type': 'application/json' }).end('{"error":{"message":"down"}}'),
  );
  let isUp = true;
  await using fallback = await startProvider((request, response) =>
    isUp ? json({ text: 'From the fallback.' })(request, response) : void response.writeHead(200).end('<html>not the protocol</html>'),
  );
  const entries = {
    openai: { type: 'openai', baseUrl: broken.url, apiKeyName: 'FIRST_API_KEY' },
    groq: { type: 'openai-compatible', baseUrl: fallback.url, apiKeyName: 'SECOND_API_KEY' },
  };
  const settings = { providers: { entries }, media: { transcription: { fallbackProviders: ['groq' as const] } } };
  await using app = await testMedia({ settings, secrets: { FIRST_API_KEY: KEY, SECOND_API_KEY: `${KEY}-2` } });
  const transcribe = async (samples: number) =>
    app.bus.call('audio.transcribe', { audio: Buffer.from(encodeWav(new Int16Array(samples), 8_000)).toString('base64') });
  assert.deepEqual(await transcribe(100), { text: 'From the fallback.' });
  isUp = false;
  const result = await transcribe(200);
  const error = 'error' in result ? result.error : assert.fail();
  assert.match(
    error,
    /^all providers of transcription failed: openai\/gpt-4o-mini-transcribe: provider openai failed \(500\): down; groq\/whisper/,
  );
  assert.match(error, /sent a response that is not its protocol/);
  assert.ok(!error.includes(KEY));
});

test('names a rejected key and a rate limit', TIMEOUT, async () => {
  let status = 401;
  await using provider = await startProvider((_, response) =>
    response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '7' }).end(`{"error":{"message":"no ${KEY}"}}`),
  );
  await using app = await testMedia({ env: { OPENAI_BASE_URL: provider.url }, secrets: { OPENAI_API_KEY: KEY } });
  const synthesize = async () => app.bus.call('tts.synthesize', { text: 'Hello', format: 'wav' });
  await assert.rejects(synthesize(), { code: 'FAILED_PRECONDITION', message: /openai refused the key OPENAI_API_KEY/ });
  status = 429;
  await assert.rejects(synthesize(), (error: { code: string; message: string; details: Record<string, unknown> }) => {
    assert.deepEqual([error.code, error.details['retryAfterMs']], ['RESOURCE_EXHAUSTED', 7_000]);
    assert.ok(!error.message.includes(KEY));
    return true;
  });
});

test('speaks with the configured provider and stores what it sent', TIMEOUT, async () => {
  await using provider = await startProvider((_, response) => response.writeHead(200, { 'content-type': 'audio/wav' }).end(WAV));
  await using app = await testMedia({ env: { OPENAI_BASE_URL: provider.url }, settings: { tts: { voice: 'nova' } } });
  const { sizeBytes, mimeType } = await app.bus.call('tts.synthesize', { text: '# Title\n\nSome **bold** words.', format: 'wav' });
  assert.deepEqual([sizeBytes, mimeType], [WAV.length, 'audio/wav']);
  const sent = JSON.parse(provider.requests[0]?.body.toString() ?? '{}') as Record<string, unknown>;
  assert.deepEqual([sent['input'], sent['voice'], sent['response_format']], ['Title.\n\nSome bold words.', 'nova', 'wav']);
});

test('image.generate returns the image of the provider and its limits in the result', TIMEOUT, async () => {
  const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=';
  await using provider = await startProvider(json({ data: [{ b64_json: png }] }));
  const settings = { imageGen: { provider: 'openai', maxPerHour: 2 } } as const;
  await using app = await testMedia({ env: { OPENAI_BASE_URL: provider.url }, settings });
  const generate = async (prompt: string, size?: string) =>
    app.bus.call('image.generate', { prompt, ...(size === undefined ? {} : { size }) });
  assert.deepEqual(await generate('a yard'), { success: true, imageBase64: png, mimeType: 'image/png' });
  assert.deepEqual(await generate(' '), { success: false, error: 'prompt: expected a description of the image, got none' });
  assert.match(JSON.stringify(await generate('a yard', '9x99999')), /expected <width>x<height>/);
  await generate('another');
  assert.match(
    JSON.stringify(await generate('a third')),
    /"success":false,"error":"no more than 2 images an hour \(imageGen\.maxPerHour\)/,
  );
  assert.equal(provider.requests.length, 2, 'refused calls ask no provider');
});

/** Returns the only record of the next event. */
async function nextRecord(app: TestService) {
  const { records } = await app.nextEvent(MEDIA_USAGE);
  const [record] = records;
  assert.ok(record && records.length === 1, `${records.length} records`);
  return record;
}

test('records each call of a provider for billing, and none for a kept answer', TIMEOUT, async () => {
  let isUp = true;
  await using provider = await startProvider((request, response) =>
    isUp
      ? json({ text: 'Remind me at nine.' })(request, response)
      : void response.writeHead(500, { 'content-type': 'application/json' }).end('{"error":{"message":"down"}}'),
  );
  await using app = await testMedia({ env: { OPENAI_BASE_URL: provider.url }, secrets: { OPENAI_API_KEY: KEY } });
  const transcribe = async (samples: number) =>
    app.bus.call('audio.transcribe', { audio: Buffer.from(encodeWav(new Int16Array(samples), 8_000)).toString('base64') });
  const next = async () => {
    const { purpose, outcome, model, usage } = await nextRecord(app);
    return [purpose, outcome, model, usage.calls, usage.unknownCalls];
  };
  await transcribe(100);
  const model = 'openai/gpt-4o-mini-transcribe';
  assert.deepEqual(await next(), ['transcription', 'answered', model, 1, 1]);
  await transcribe(100);
  isUp = false;
  await transcribe(200);
  assert.deepEqual(await next(), ['transcription', 'failed', model, 1, 1], 'the kept answer is not recorded');
});

test('records the tokens and the cost of a described image', TIMEOUT, async () => {
  const usage = { prompt_tokens: 1_000, completion_tokens: 20, total_tokens: 1_020 };
  const choices = [{ index: 0, message: { role: 'assistant', content: 'A yard.' }, finish_reason: 'stop' }];
  await using provider = await startProvider(json({ id: 'c', object: 'chat.completion', created: 1, model: 'gpt-4o', choices, usage }));
  const cost = { input: 2.5, output: 10, cacheRead: 0, cacheWrite: 0 };
  const models = [{ id: 'gpt-4o', input: ['text' as const, 'image' as const], cost }];
  const entries = { openai: { type: 'openai-compatible', baseUrl: provider.url, apiKeyName: 'VISION_API_KEY', models } };
  await using app = await testMedia({ settings: { providers: { entries } }, secrets: { VISION_API_KEY: KEY } });
  const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
  const { description } = await app.bus.call('image.analyze', { source: png.toString('base64'), source_type: 'base64' });
  assert.equal(description, 'A yard.');
  const recorded = await nextRecord(app);
  assert.deepEqual([recorded.purpose, recorded.outcome, recorded.usage.unknownCalls], ['vision', 'answered', 0]);
  assert.deepEqual([recorded.usage.input, recorded.usage.output], [1_000, 20]);
  assert.ok(recorded.usage.costUsd > 0);
});
