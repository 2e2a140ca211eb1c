// own process: the search for ffmpeg is made once in a process, here without any programs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeWav } from '@switchyard/models';
import { startMediaUpstream } from '@switchyard/testkit';
import { hasFfmpeg } from './conversion/ffmpeg.ts';
import { testMedia } from './media.fixture.ts';

process.env['PATH'] = '/nonexistent';

const TIMEOUT = { timeout: 60_000 };
const AMR = Buffer.concat([Buffer.from('#!AMR\n'), Buffer.alloc(320, 0x7c)]).toString('base64');
const WAV = Buffer.from(encodeWav(new Int16Array(800), 8_000)).toString('base64');
const BMP = Buffer.concat([Buffer.from('BM'), Buffer.alloc(60)]).toString('base64');

test('without ffmpeg each conversion names the package, and all else works', TIMEOUT, async () => {
  assert.equal(hasFfmpeg(), false);
  const speech = encodeWav(new Int16Array(800), 24_000);
  await using upstream = await startMediaUpstream({ transcript: 'Nine.', speech });
  await using app = await testMedia({ env: { OPENAI_BASE_URL: `${upstream.origin}/v1` } });
  assert.deepEqual(await app.bus.call('audio.transcribe', { audio: AMR }), {
    error: 'provider openai does not take audio/amr, and converting it needs ffmpeg. Install the package ffmpeg.',
  });
  const heard = await app.bus.call('audio.transcribe', { audio: WAV });
  assert.equal('text' in heard ? heard.text : heard.error, 'Nine.');

  const missing = { code: 'FAILED_PRECONDITION', message: /Install the package ffmpeg\.$/, details: { reason: 'FFMPEG_NOT_INSTALLED' } };
  await assert.rejects(app.bus.call('tts.synthesize', { text: 'Hello', format: 'mp3' }), missing);
  // The format was not requested, so that the one of the provider is as good.
  assert.equal((await app.bus.call('tts.synthesize', { text: 'Hello' })).mimeType, 'audio/wav');

  await assert.rejects(app.bus.call('image.analyze', { source: BMP, source_type: 'base64' }), {
    message: 'BMP images need ffmpeg. Install the package ffmpeg.',
  });
  const document = { file_path: 'a.txt', content: Buffer.from('The train leaves at nine.').toString('base64') };
  assert.match((await app.bus.call('media.test.document', document)).text, /The train leaves at nine/);
});
