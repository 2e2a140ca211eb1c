import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseParams } from '../definition/validation.ts';
import { audioMethods } from './audio.ts';
import { mediaMethods } from './media.ts';

const { params } = mediaMethods['media.test.stt'];

test('base64 is standard or URL-safe, padded or not, with white space in it or not', () => {
  for (const audio of ['T2dnUwACAAA=', 'T2dnUwACAAA', '-_-_', '+/+/', 'T2dn\r\nUwAC\nAAA=\n', 'AA==', 'AA', 'AAA'])
    assert.deepEqual(parseParams(params, { audio }), { audio }, audio);
});

test('invalid base64 is rejected when the result has no error field', () => {
  for (const audio of ['', ' ', '=', 'A', 'AAAAA', 'AA=A', 'A===', 'AA*A', 'data:audio/ogg;base64,AAAA'])
    assert.throws(
      () => parseParams(params, { audio }),
      /^ServiceError: Invalid params: audio: expected (base64|non-empty string), got/,
      audio,
    );
});

test('a transcription says in its result that the audio is no base64', () => {
  assert.deepEqual(parseParams(audioMethods['audio.transcribe'].params, { audio: '***' }), { audio: '***', mimeType: 'audio/ogg' });
});
