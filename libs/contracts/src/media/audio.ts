import { z } from 'zod';
import { DurationMs } from '../values/common.ts';
import { defineMethods } from '../definition/define.ts';
import { MAX, boundedString } from '../values/sizes.ts';
import { MEDIA_USAGE } from './usage-event.ts';

export const Language = z.string().min(2).max(35).describe('language tag, for example en or pt-BR; detected by default');

/** Transcribed speech. */
export const Transcript = z.object({
  text: boundedString(MAX.text),
  language: boundedString(MAX.name).optional(),
  durationMs: DurationMs.optional(),
});

/** A transcript, or why there is none: that is no error of the call. */
export const TranscriptOrError = z.union([Transcript, z.object({ error: boundedString(MAX.line) })]);

/** Speech-to-text takes up to a minute per provider, and falls back to the next. */
export const TRANSCRIBE_DEADLINE_MS = 150_000;

export const audioMethods = defineMethods({
  'audio.transcribe': {
    summary: 'Transcribes audio in the request.',
    description: 'Without a working provider, or if the audio is not base64, the result contains an error instead of a text.',
    scope: 'rpc',
    params: z.strictObject({
      audio: boundedString(MAX.payload).describe('base64, standard or URL-safe, with or without padding; white space is ignored'),
      mimeType: z.string().min(1).max(128).default('audio/ogg'),
      language: Language.optional(),
    }),
    result: TranscriptOrError,
    tool: false,
    effect: 'read',
    deadlineMs: TRANSCRIBE_DEADLINE_MS,
    idempotent: true,
    blobs: ['*'],
    emits: [MEDIA_USAGE],
    examples: [
      { params: { audio: 'T2dnUwACAAA=', language: 'en' }, result: { text: 'Remind me at nine.', language: 'en', durationMs: 1900 } },
      { params: { audio: 'T2dnUwACAAA=' }, result: { error: 'speech-to-text is not configured' } },
    ],
  },
});
