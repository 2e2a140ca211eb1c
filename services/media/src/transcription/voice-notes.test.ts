import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { encodeWav, readWavDurationMs } from '@switchyard/models';
import { startMediaUpstream, tempDir } from '@switchyard/testkit';
import { analyzeAudio, convertAudio, hasFfmpeg } from '../conversion/ffmpeg.ts';
import { testMedia } from '../media.fixture.ts';
import { createFlac } from './flac-file.fixture.ts';
import { readUploadedFile } from './uploaded-file.fixture.ts';
import { measureAudio } from './split-audio.ts';

const OPTIONS = { timeout: 60_000, skip: !hasFfmpeg() && 'ffmpeg is not installed' };
const { signal } = new AbortController();
const RATE = 8_000;
const TONE = encodeWav(
  Int16Array.from({ length: 2 * RATE }, (_, at) => 12_000 * Math.sin((2 * Math.PI * 440 * at) / RATE)),
  RATE,
);

/** A voice note in AMR of this many frames of silence, 20 ms each, at 12.2 kbit/s. */
function createAmr(frames: number): Buffer {
  const frame = Buffer.alloc(32);
  frame[0] = 0x3c;
  return Buffer.concat([Buffer.from('#!AMR\n', 'latin1'), ...Array.from({ length: frames }, () => frame)]);
}

test('a voice note in AMR reaches a provider that does not take it as WAV', OPTIONS, async () => {
  await using upstream = await startMediaUpstream({ transcript: 'From an old phone.' });
  await using app = await testMedia({ env: { OPENAI_BASE_URL: `${upstream.origin}/v1` } });
  const result = await app.bus.call('audio.transcribe', { audio: createAmr(100).toString('base64'), mimeType: 'audio/ogg' });
  assert.equal('text' in result ? result.text : result.error, 'From an old phone.');
  const { name, bytes } = readUploadedFile(upstream.requests[0]?.body ?? Buffer.alloc(0));
  assert.equal(name, 'audio.wav');
  assert.ok(Math.abs((readWavDurationMs(bytes) ?? 0) - 2_000) < 100, String(readWavDurationMs(bytes)));
});

test('a voice note in AMR reaches a provider that takes every type unchanged', OPTIONS, async () => {
  await using upstream = await startMediaUpstream();
  const entries = { deepgram: { type: 'openai-compatible', baseUrl: upstream.origin, apiKeyName: 'THE_KEY' } };
  const settings = { providers: { entries }, media: { transcription: { provider: 'deepgram' as const } } };
  await using app = await testMedia({ settings, secrets: { THE_KEY: 'a-key' } });
  const note = createAmr(50);
  await app.bus.call('audio.transcribe', { audio: note.toString('base64') });
  assert.deepEqual(upstream.requests[0]?.body, note);
  assert.equal(upstream.requests[0]?.headers['content-type'], 'audio/amr');
});

test('an M4A file whose index is at its end is measured and converted', OPTIONS, async () => {
  await using folder = await tempDir();
  const [wav, m4a] = [join(folder.path, 'note.wav'), join(folder.path, 'note.m4a')];
  writeFileSync(wav, TONE);
  execFileSync('ffmpeg', ['-loglevel', 'error', '-i', wav, '-c:a', 'aac', m4a]);
  const file = readFileSync(m4a);
  assert.ok(file.indexOf('mdat') < file.indexOf('moov'), 'phones write the index last');
  const { seconds } = await measureAudio(file, 60, signal);
  assert.ok(Math.abs(seconds - 2) < 0.2, String(seconds));
  const converted = await convertAudio(file, { output: ['-c:a', 'pcm_s16le', '-f', 'wav'], signal });
  assert.ok(converted.length > RATE);
});

test('20 hours of silence are refused by their header before a provider is asked', OPTIONS, async () => {
  await using upstream = await startMediaUpstream();
  await using app = await testMedia({ env: { OPENAI_BASE_URL: `${upstream.origin}/v1` } });
  const result = await app.bus.call('audio.transcribe', { audio: createFlac(20 * 3_600 * RATE, RATE).toString('base64') });
  assert.deepEqual(result, { error: 'the audio is longer than 4 hours: cut it and send the parts' });
  assert.equal(upstream.requests.length, 0);
});

test(
  '20 hours of silence in AMR, which has no length in its header, are refused before ffmpeg and a provider are asked',
  OPTIONS,
  async () => {
    await using upstream = await startMediaUpstream();
    await using app = await testMedia({ env: { OPENAI_BASE_URL: `${upstream.origin}/v1` } });
    const silence = createAmr(0);
    const frames = Buffer.alloc(6 * 5 * 3_600 * 50).fill(Buffer.from([0x44, 0, 0, 0, 0, 0]));
    const startedAt = performance.now();
    const result = await app.bus.call('audio.transcribe', { audio: Buffer.concat([silence, frames]).toString('base64') });
    assert.deepEqual(result, { error: 'the audio is longer than 4 hours: cut it and send the parts' });
    assert.equal(upstream.requests.length, 0);
    assert.ok(performance.now() - startedAt < 30_000, 'the sound is not decoded');
  },
);

test('a conversion that takes too long is stopped, and the error says so', OPTIONS, async () => {
  const note = createAmr(50 * 600);
  const expected = { code: 'FAILED_PRECONDITION', details: { reason: 'AUDIO_TIMEOUT' } };
  await assert.rejects(convertAudio(note, { output: ['-c:a', 'pcm_s16le', '-f', 'wav'], signal, timeoutMs: 1 }), expected);
  await assert.rejects(analyzeAudio(note, { filter: 'anull', maxSeconds: 600, signal, timeoutMs: 1 }), expected);
});
