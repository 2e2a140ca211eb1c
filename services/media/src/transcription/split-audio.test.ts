import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeWav } from '@switchyard/models';
import { convertAudio, hasFfmpeg } from '../conversion/ffmpeg.ts';
import { testMedia } from '../media.fixture.ts';
import { readHeaderSeconds } from './header-duration.ts';
import { measureAudio, planCuts, splitAudio } from './split-audio.ts';

const OPTIONS = { timeout: 60_000, skip: !hasFfmpeg() && 'ffmpeg is not installed' };
const { signal } = new AbortController();
const RATE = 8_000;

/** Tones of these seconds with a second of silence between them. */
function tones(...seconds: number[]): Uint8Array<ArrayBuffer> {
  const parts = seconds.flatMap((length) => [
    Int16Array.from({ length: length * RATE }, (_, at) => 12_000 * Math.sin((2 * Math.PI * 440 * at) / RATE)),
    new Int16Array(RATE),
  ]);
  const all = new Int16Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return encodeWav(all, RATE);
}

test('planCuts cuts at the last pause of each part, else at its length', () => {
  assert.deepEqual(planCuts({ seconds: 100, pauses: [10, 35, 38, 70] }, 40), [38, 70]);
  assert.deepEqual(planCuts({ seconds: 100, pauses: [] }, 40), [40, 80]);
  assert.deepEqual(planCuts({ seconds: 40, pauses: [20] }, 40), []);
});

test('measures a sound, finds its pauses and cuts it there', OPTIONS, async () => {
  const sound = tones(4, 4, 4);
  const shape = await measureAudio(sound, 60, signal);
  assert.ok(Math.abs(shape.seconds - 15) < 0.1, String(shape.seconds));
  assert.deepEqual(shape.pauses.map(Math.round).slice(0, 2), [5, 10]);
  const cuts = planCuts(shape, 6);
  const parts = await Array.fromAsync(splitAudio(sound, cuts, signal));
  const durations = parts.map((part) => readHeaderSeconds(part) ?? 0);
  assert.equal(durations.length, 3);
  assert.ok(Math.abs(durations.reduce((sum, one) => sum + one, 0) - 15) < 0.2, durations.join());
  const start = await measureAudio(sound, 6, signal);
  assert.ok(start.seconds < 7, 'the rest is not decoded');
});

test('a voice note in AAC, WebM or Ogg is read, whatever type the caller claims', OPTIONS, async () => {
  const encoders = {
    m4a: ['-c:a', 'aac', '-f', 'adts'],
    webm: ['-c:a', 'libopus', '-ar', '48000', '-f', 'webm'],
    ogg: ['-c:a', 'libopus', '-ar', '48000', '-f', 'ogg'],
  };
  await using app = await testMedia();
  for (const [name, output] of Object.entries(encoders)) {
    const note = await convertAudio(tones(1), { output, signal });
    const result = await app.bus.call('audio.transcribe', { audio: Buffer.from(note).toString('base64'), mimeType: 'text/plain' });
    assert.match('text' in result ? result.text : JSON.stringify(result), /^I am dev\/stt.* bytes of audio\//, name);
  }
});

test('bytes that only look like audio are refused by name', OPTIONS, async () => {
  await assert.rejects(convertAudio(Buffer.from('OggS but nothing more'), { output: ['-f', 'wav'], signal }), {
    code: 'INVALID_ARGUMENT',
    details: { reason: 'AUDIO_DAMAGED' },
  });
  // A playlist must not make ffmpeg open other files.
  const playlist = Buffer.from('#EXTM3U\n#EXTINF:10,\nfile:///etc/passwd\n');
  await assert.rejects(convertAudio(playlist, { output: ['-f', 'wav'], signal }), { code: 'INVALID_ARGUMENT' });
});
