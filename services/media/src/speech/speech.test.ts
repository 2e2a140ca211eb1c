import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readBlob } from '@switchyard/blob';
import { principal } from '@switchyard/testkit';
import { fileTypeFromBuffer } from 'file-type';
import { hasFfmpeg } from '../conversion/ffmpeg.ts';
import { testMedia } from '../media.fixture.ts';

const TIMEOUT = { timeout: 60_000 };

test('tts.synthesize stores a WAV file that the development transcriber reads', TIMEOUT, async () => {
  await using app = await testMedia();
  const spoken = await app.bus.call('tts.synthesize', { text: 'The train leaves at nine.', format: 'wav' });
  assert.match(spoken.filePath, /^\/media\/blob_[0-9A-Za-z]{22}\.wav$/);
  assert.deepEqual([spoken.mimeType, spoken.mediaPath], ['audio/wav', spoken.filePath]);
  const heard = await app.bus.call('media.transcribe', { attachment_url: spoken.filePath, language: 'en' });
  assert.match(heard.text, /^I am dev\/stt, the development transcriber\. I received \d+ bytes of audio\/wav, 1\.5 s long\.$/);
  assert.deepEqual([heard.language, heard.durationMs], ['en', 1_500]);
});

test(
  'tts.synthesize makes bytes, extension and type of every format agree',
  { ...TIMEOUT, skip: !hasFfmpeg() && 'ffmpeg is not installed' },
  async () => {
    await using app = await testMedia();
    const blobs = (await app.host.blobs()).for(principal());
    const types = { opus: 'audio/ogg; codecs=opus', mp3: 'audio/mpeg', aac: 'audio/aac', flac: 'audio/flac', wav: 'audio/wav' };
    for (const [format, expected] of Object.entries(types)) {
      const spoken = await app.bus.call('tts.synthesize', { text: 'One, two.', format });
      const [, id = '', extension] = /(blob_\w{22})\.(\w+)$/.exec(spoken.filePath) ?? [];
      const chunks: Uint8Array[] = [];
      for await (const chunk of (await readBlob(blobs, id)).bytes) chunks.push(chunk);
      const bytes = Buffer.concat(chunks);
      const found = await fileTypeFromBuffer(bytes);
      assert.equal(found?.mime, expected, format);
      assert.equal(bytes.length, spoken.sizeBytes);
      assert.equal(extension, format === 'opus' ? 'ogg' : format);
      if (format === 'opus') assert.equal(bytes.readUInt32LE(bytes.indexOf('OpusHead') + 12), 48_000, 'the sample rate');
    }
  },
);

test('tts.synthesize stores a file that the blob store removes after an hour', TIMEOUT, async () => {
  await using app = await testMedia();
  const { filePath } = await app.bus.call('tts.synthesize', { text: 'Hello', format: 'wav' });
  const [id = ''] = /blob_\w{22}/.exec(filePath) ?? [];
  const { expiresAt } = await (await app.host.blobs()).for(principal()).status(id);
  const minutes = (expiresAt - Date.now()) / 60_000;
  assert.ok(minutes > 55 && minutes <= 60, `${minutes} minutes`);
});

test('tts.synthesize rejects an unknown format, a text without words and a text that is too long', TIMEOUT, async () => {
  await using app = await testMedia({ settings: { tts: { maxTextLength: 20 } } });
  const cases = [
    [{ text: 'Hello', format: 'midi' }, /format: expected opus, mp3, aac, flac, wav, pcm, got midi/],
    [{ text: '```\ncode\n```' }, /text: expected words to speak, got none/],
    [{ text: 'a'.repeat(21) }, /text: expected at most 20 characters \(tts\.maxTextLength\), got 21/],
  ] as const;
  for (const [params, message] of cases)
    await assert.rejects(app.bus.call('tts.synthesize', params), { code: 'INVALID_ARGUMENT', message });
});

test('a directive overrides voice and format, and is not spoken', TIMEOUT, async () => {
  await using app = await testMedia();
  const spoken = await app.bus.call('tts.synthesize', { text: '[[tts:voice=nova,format=wav,speed=2]]Hello', format: 'pcm' });
  assert.equal(spoken.mimeType, 'audio/wav');
  const plain = await app.bus.call('tts.synthesize', { text: 'Hello', format: 'wav' });
  assert.ok(spoken.sizeBytes < plain.sizeBytes, 'twice the speed');
});

test('tts.auto_check decides by mode and strips directives outside of code', TIMEOUT, async () => {
  const reply = '[[tts]]Good morning. `[[tts]]`';
  const cases = [
    ['off', true, false, false],
    ['always', false, false, true],
    ['always', false, true, false],
    ['inbound', true, false, true],
    ['voice_reply', false, false, false],
    ['tagged', false, false, true],
  ] as const;
  for (const [autoMode, hasAudio, hasUrl, expected] of cases) {
    await using app = await testMedia({ settings: { tts: { autoMode } } });
    const params = { response_text: reply, has_inbound_audio: hasAudio, has_media_url: hasUrl };
    const { shouldSynthesize, strippedText, mode } = await app.bus.call('tts.auto_check', params);
    assert.deepEqual([shouldSynthesize, strippedText, mode], [expected, 'Good morning. `[[tts]]`', autoMode], autoMode);
  }
});

test('audio.transcribe reports failures in its result', TIMEOUT, async () => {
  await using app = await testMedia();
  const errorOf = async (audio: string): Promise<string> => {
    const result = await app.bus.call('audio.transcribe', { audio });
    return 'error' in result ? result.error : assert.fail(JSON.stringify(result));
  };
  assert.match(await errorOf('***'), /expected base64/);
  assert.match(await errorOf(''), /expected base64/);
  assert.match(await errorOf(Buffer.from('no audio at all').toString('base64')), /expected audio, got bytes of no known format/);
  assert.match(await errorOf(Buffer.from('%PDF-1.7 not audio').toString('base64')), /expected audio, got application\/pdf/);
});

test('media.test.stt and media.test.tts answer with the development models and name them', TIMEOUT, async () => {
  await using app = await testMedia();
  const heard = await app.bus.call('media.test.stt', {});
  assert.deepEqual([heard.provider, heard.model], ['dev', 'stt']);
  const { audio, provider, model, voice, sizeBytes } = await app.bus.call('media.test.tts', { text: 'One' });
  assert.deepEqual([provider, model, voice], ['dev', 'tts', 'alloy']);
  assert.equal(Buffer.from(audio, 'base64').length, sizeBytes);
});

test('media.providers names development models while no provider has a key', TIMEOUT, async () => {
  await using app = await testMedia();
  const { providers } = await app.bus.call('media.providers', {});
  assert.deepEqual(
    [
      providers.stt.provider,
      providers.tts.model,
      providers.vision.provider,
      providers.imageGen.model,
      providers.linkUnderstanding.maxLinks,
    ],
    ['dev', 'tts', 'dev', 'image', 3],
  );
});
