import assert from 'node:assert/strict';
import { test } from 'node:test';
import { principal } from '@switchyard/testkit';
import { testMedia } from '../media.fixture.ts';

const TIMEOUT = { timeout: 60_000 };

test('tts.synthesize returns the same file for the same key, also for calls at once', TIMEOUT, async () => {
  await using app = await testMedia();
  const params = { text: 'Hello', format: 'wav', idempotencyKey: 'once' };
  const [first, second] = await Promise.all([app.bus.call('tts.synthesize', params), app.bus.call('tts.synthesize', params)]);
  assert.deepEqual(second, first);
  assert.deepEqual(await app.bus.call('tts.synthesize', params), first);
  const other = app.bus.as(principal({ client: 'other' }));
  assert.notEqual((await other.call('tts.synthesize', params)).filePath, first.filePath, 'keys belong to their client');
  await assert.rejects(app.bus.call('tts.synthesize', { ...params, text: 'Bye' }), {
    code: 'INVALID_ARGUMENT',
    details: { reason: 'IDEMPOTENCY_MISMATCH' },
  });
});

test('image.generate counts a key once against the hourly limit', TIMEOUT, async () => {
  await using app = await testMedia({ settings: { imageGen: { maxPerHour: 1, defaultSize: '16x16' } } });
  const params = { prompt: 'a yard', idempotencyKey: 'once' };
  const first = await app.bus.call('image.generate', params);
  assert.ok(first.success);
  assert.deepEqual(await app.bus.call('image.generate', params), first);
  const refused = await app.bus.call('image.generate', { prompt: 'a yard' });
  assert.match(refused.success ? '' : refused.error, /no more than 1 images an hour/);
});

test('a failed call frees its key', TIMEOUT, async () => {
  await using app = await testMedia();
  const params = { text: 'Hello', format: 'wav', idempotencyKey: 'again' };
  await assert.rejects(app.bus.call('tts.synthesize', { ...params, format: 'midi' }), { code: 'INVALID_ARGUMENT' });
  assert.equal((await app.bus.call('tts.synthesize', params)).mimeType, 'audio/wav');
});

test('image.generate answers with a real image of the development model', TIMEOUT, async () => {
  await using app = await testMedia();
  const result = await app.bus.call('image.generate', { prompt: 'a yard', size: '32x16' });
  const { default: sharp } = await import('sharp');
  const { width, height, format } = await sharp(Buffer.from((result.success && result.imageBase64) || '', 'base64')).metadata();
  assert.deepEqual([width, height, format], [32, 16, 'png']);
});
