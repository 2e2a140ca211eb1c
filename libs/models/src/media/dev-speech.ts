import { modelNotFound } from '../errors/provider-errors.ts';
import type { SpeechAnswer, SpeechRequest, TranscriptionAnswer, TranscriptionRequest } from './media-models.ts';
import { encodeWav, readWavDurationMs } from './wav.ts';

export const DEV_TRANSCRIBER = 'stt';
export const DEV_SPEAKER = 'tts';

const SAMPLE_RATE = 24_000;
const SAMPLES_PER_CHARACTER = 1_440; // 60 ms
const MAX_SAMPLES = SAMPLE_RATE * 120;
const AMPLITUDE = 9_000;
const FADE_SAMPLES = 240;

/** Answers with a description of the audio. The same bytes give the same text. */
export function transcribeForDevelopment({ model, audio, mimeType, language }: TranscriptionRequest): TranscriptionAnswer {
  if (model.modelId !== DEV_TRANSCRIBER) throw modelNotFound(`the development provider has no transcription model ${model.modelId}`);
  const durationMs = readWavDurationMs(audio);
  const length = durationMs === undefined ? '' : `, ${(durationMs / 1_000).toFixed(1)} s long`;
  return {
    text: `I am dev/stt, the development transcriber. I received ${audio.length} bytes of ${mimeType}${length}.`,
    ...(language === undefined ? {} : { language }),
    ...(durationMs === undefined ? {} : { durationMs }),
  };
}

/** Plays one tone for each letter and silence for spaces, as a WAV file. The same text and voice give the same bytes. */
export function synthesizeForDevelopment({ model, text, voice, speed = 1 }: SpeechRequest): SpeechAnswer {
  if (model.modelId !== DEV_SPEAKER) throw modelNotFound(`the development provider has no speech model ${model.modelId}`);
  const perCharacter = Math.max(FADE_SAMPLES * 2, Math.round(SAMPLES_PER_CHARACTER / speed));
  const characters = Array.from(text).slice(0, Math.floor(MAX_SAMPLES / perCharacter));
  const base = 220 + (hash(voice) % 12) * 10;
  const samples = new Int16Array(characters.length * perCharacter);
  for (const [at, character] of characters.entries()) {
    if (!/[\p{L}\p{N}]/u.test(character)) continue;
    const frequency = base * 2 ** (((character.codePointAt(0) ?? 0) % 24) / 12);
    writeTone(samples.subarray(at * perCharacter, (at + 1) * perCharacter), frequency);
  }
  return { audio: encodeWav(samples, SAMPLE_RATE), format: 'wav' };
}

/** Writes a sine that fades in and out, so that tones do not click. */
function writeTone(samples: Int16Array, frequency: number): void {
  for (let at = 0; at < samples.length; at++) {
    const fade = Math.min(1, at / FADE_SAMPLES, (samples.length - at) / FADE_SAMPLES);
    samples[at] = Math.round(AMPLITUDE * fade * Math.sin((2 * Math.PI * frequency * at) / SAMPLE_RATE));
  }
}

function hash(text: string): number {
  let value = 0;
  for (const character of text) value = (value * 31 + (character.codePointAt(0) ?? 0)) >>> 0;
  return value;
}
