import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSource, putBlob } from '@switchyard/blob';
import { encodeWav } from '@switchyard/models';
import { NATIVE_WIRES, principal, startMediaUpstream, startNativeUpstream, type MediaReply, type NativeReply } from '@switchyard/testkit';
import { testMedia } from '../media.fixture.ts';

const TIMEOUT = { timeout: 60_000 };
const SECRETS = { OPENAI_KEY: 'the-key-of-openai', DEEPGRAM_KEY: 'the-key-of-deepgram', GOOGLE_KEY: 'the-key-of-google' };
const MAX_RETRY_MS = 90_000;
/** Time for a response that never comes. The fallback must answer within it too, on a busy machine. */
const STALL_TIMEOUT_MS = 3_000;
const VIDEO = Buffer.from('000000186674797069736f6d0000020069736f6d69736f32', 'hex').toString('base64');
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
const HTML: MediaReply = { kind: 'body', type: 'text/html', body: '<html>The site is under maintenance.</html>' };
const JSON_TYPE = { 'content-type': 'application/json' };

let samples = 100;
/** Each sound is another, because answers are kept by their bytes. */
const nextWav = (): string => Buffer.from(encodeWav(new Int16Array((samples += 10)), 8_000)).toString('base64');

test('transcription asks the next provider after each failure of the first', TIMEOUT, async () => {
  await using first = await startMediaUpstream();
  await using second = await startMediaUpstream({ transcript: 'From the second.' });
  const entries = {
    openai: { type: 'openai', baseUrl: `${first.origin}/v1`, apiKeyName: 'OPENAI_KEY' },
    deepgram: { type: 'openai-compatible', baseUrl: second.origin, apiKeyName: 'DEEPGRAM_KEY' },
  };
  const transcription = { fallbackProviders: ['deepgram' as const], timeoutMs: STALL_TIMEOUT_MS };
  await using app = await testMedia({ settings: { providers: { entries }, media: { transcription } }, secrets: SECRETS });
  const retryAt = new Date(Date.now() + MAX_RETRY_MS).toUTCString();
  const replies: Readonly<Record<string, MediaReply>> = {
    'a cut response': { kind: 'cut' },
    'no response': { kind: 'stall' },
    'a response without an end': { kind: 'stall', sendsHeaders: true },
    'a rate limit': { kind: 'status', status: 429, headers: { 'retry-after': retryAt } },
    'an internal error': { kind: 'status', status: 500 },
    HTML,
    nothing: { kind: 'body', type: 'application/json', body: '' },
    'a rejected key': { kind: 'status', status: 401 },
  };
  for (const [failure, reply] of Object.entries(replies)) {
    first.respond(reply);
    const before = first.requests.length;
    const result = await app.bus.call('audio.transcribe', { audio: nextWav() });
    assert.deepEqual(result, { text: 'From the second.', language: 'en', durationMs: 2_000 }, failure);
    assert.equal(first.requests.length, before + 1, failure);
  }
});

test('speech that is no sound is an error by name, and its bytes decide its type', TIMEOUT, async () => {
  const wav = encodeWav(new Int16Array(2_400), 24_000);
  await using upstream = await startMediaUpstream({ speech: wav });
  await using app = await testMedia({ env: { OPENAI_BASE_URL: `${upstream.origin}/v1` } });
  const refusals: Readonly<Record<string, [MediaReply, RegExp]>> = {
    HTML: [HTML, /^provider openai sent .* instead of speech$/],
    JSON: [{ kind: 'body', type: 'audio/mpeg', body: '{"detail":"quota"}' }, /instead of speech/],
    nothing: [{ kind: 'body', type: 'audio/mpeg', body: '' }, /without sound/],
    cut: [{ kind: 'cut' }, /ended its response before it was complete/],
  };
  for (const format of ['wav', 'pcm', 'mp3']) {
    for (const [name, [reply, message]] of Object.entries(refusals)) {
      upstream.respond(reply);
      await assert.rejects(
        app.bus.call('tts.synthesize', { text: 'Hello', format }),
        { code: 'UNAVAILABLE', message },
        `${format}: ${name}`,
      );
    }
  }
  // The server ignores the requested format, which is that of the settings.
  upstream.respond({ kind: 'whole' });
  const { mimeType, filePath } = await app.bus.call('tts.synthesize', { text: 'Hello', format: 'wav' });
  assert.deepEqual([mimeType, filePath.endsWith('.wav')], ['audio/wav', true]);
});

test('Google describes images and videos, and its failures are named', TIMEOUT, async () => {
  const usage = { input: 20, output: 3 };
  const whole: NativeReply = { writes: NATIVE_WIRES.google.events({ says: [{ text: 'A yard.' }], usage }) };
  const refuse = (status: number, headers = {}): NativeReply => ({
    status,
    headers: { ...JSON_TYPE, ...headers },
    writes: ['{"error":{"code":1,"message":"refused","status":"S"}}'],
  });
  const retryAt = new Date(Date.now() + MAX_RETRY_MS).toUTCString();
  await using upstream = await startNativeUpstream(whole, whole, refuse(401), refuse(429, { 'retry-after': retryAt }), {
    headers: { 'content-type': 'text/html' },
    writes: ['<html></html>'],
  });
  const models = [{ id: 'gemini-3.5-flash-lite', input: ['text' as const, 'image' as const] }];
  const entries = { google: { type: 'google', baseUrl: upstream.url, apiKeyName: 'GOOGLE_KEY', models } };
  await using app = await testMedia({ settings: { providers: { entries } }, secrets: SECRETS });
  const analyze = (prompt: string) => app.bus.call('image.analyze', { source: PNG, source_type: 'base64', prompt });

  assert.deepEqual(await analyze('What is it?'), { description: 'A yard.', provider: 'google', model: 'gemini-3.5-flash-lite' });
  const blobs = (await app.host.blobs()).for(principal());
  const { id } = await putBlob(blobs, createSource(Buffer.from(VIDEO, 'base64')), { contentType: 'video/mp4' });
  const video = await app.bus.call('media.describe_video', { attachment_url: `/media/${id}.mp4` });
  assert.deepEqual(video, { description: 'A yard.', provider: 'google', model: 'gemini-3.5-flash-lite' });
  const types = upstream.requests.map(({ body }) => /"mimeType":"([^"]+)"/.exec(JSON.stringify(body))?.[1]);
  assert.deepEqual(types, ['image/png', 'video/mp4']);

  await assert.rejects(analyze('a'), { code: 'FAILED_PRECONDITION', message: /google refused the key GOOGLE_KEY/ });
  await assert.rejects(analyze('b'), ({ code, details }: { code: string; details: { retryAfterMs: number } }) => {
    assert.equal(code, 'RESOURCE_EXHAUSTED');
    assert.ok(details.retryAfterMs > MAX_RETRY_MS / 2 && details.retryAfterMs <= MAX_RETRY_MS);
    return true;
  });
  await assert.rejects(analyze('c'), { code: 'UNAVAILABLE', details: { reason: 'BAD_RESPONSE', retryable: false } });
});
