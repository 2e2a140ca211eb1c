import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSource, putBlob } from '@switchyard/blob';
import { principal } from '@switchyard/testkit';
import { testMedia } from '../media.fixture.ts';

const TIMEOUT = { timeout: 60_000 };
const VIDEO = Buffer.from('000000186674797069736f6d0000020069736f6d69736f32', 'hex');

async function storeVideo(app: Awaited<ReturnType<typeof testMedia>>): Promise<string> {
  const blobs = (await app.host.blobs()).for(principal());
  return `/media/${(await putBlob(blobs, createSource(VIDEO), { contentType: 'video/mp4' })).id}.mp4`;
}

test('media.describe_video answers with the development model, always the same, and names it', TIMEOUT, async () => {
  await using app = await testMedia();
  const address = await storeVideo(app);
  const described = await app.bus.call('media.describe_video', { attachment_url: address, prompt: 'What moves?' });
  assert.deepEqual([described.provider, described.model], ['dev', 'video']);
  assert.match(described.description, /^I am dev\/video, the development video model\. I received video\/mp4 .* What moves\?$/);
  assert.deepEqual(await app.bus.call('media.describe_video', { attachment_url: address, prompt: 'What moves?' }), described);
  const tried = await app.bus.call('media.test.video', { url: address });
  assert.deepEqual([tried.provider, tried.model, tried.sizeBytes], ['dev', 'video', VIDEO.length]);
});

test('media.describe_video cuts the description at the limit of the settings', TIMEOUT, async () => {
  await using app = await testMedia({ settings: { media: { vision: { videoMaxDescriptionChars: 20 } } } });
  const { description } = await app.bus.call('media.describe_video', { attachment_url: await storeVideo(app) });
  assert.equal(description.length, 20);
});

test('media.describe_video refuses images, files above the limit, and vision that is off', TIMEOUT, async () => {
  await using app = await testMedia({ settings: { media: { vision: { videoMaxRawBytes: 20 } } } });
  await assert.rejects(app.bus.call('media.describe_video', { attachment_url: await storeVideo(app) }), {
    code: 'FAILED_PRECONDITION',
    details: { reason: 'FILE_TOO_LARGE' },
  });
  await using off = await testMedia({ settings: { media: { vision: { enabled: false } } } });
  await assert.rejects(off.bus.call('media.describe_video', { attachment_url: 'http://127.0.0.1/' }), {
    code: 'FAILED_PRECONDITION',
    message: 'vision is switched off: set media.vision.enabled to true',
  });
});

test('media.describe_video obeys the scope rules before it reads anything', TIMEOUT, async () => {
  const scopeRules = [{ channel: 'telegram', action: 'deny' as const }];
  await using app = await testMedia({
    settings: { media: { vision: { scopeRules } } },
    as: principal({ session: 'default:test:telegram:peer:1' }),
  });
  const { description } = await app.bus.call('media.describe_video', { attachment_url: 'http://127.0.0.1/' });
  assert.equal(description, 'Image and video analysis is not available in this context.');
});
