import { z } from 'zod';
import { Count, IdempotencyKey } from '../values/common.ts';
import { SpeechMode } from '../config/kinds.ts';
import { defineMethods } from '../definition/define.ts';
import { MAX, boundedString } from '../values/sizes.ts';
import { MEDIA_USAGE } from './usage-event.ts';

/** A spoken text, as a file of the agent's workspace that is removed after an hour. */
export const SpokenFile = z.object({
  filePath: boundedString(MAX.path),
  mimeType: boundedString(MAX.name),
  sizeBytes: Count,
  mediaPath: boundedString(MAX.path).optional().describe('where the bytes can be fetched'),
});

/** Whether a reply is to be spoken, and the reply without its directives. */
export const SpeechDecision = z.object({
  shouldSynthesize: z.boolean(),
  strippedText: boundedString(MAX.text),
  mode: SpeechMode.describe('default: tts.autoMode; never equals off, voice_reply equals inbound'),
});

export const TTS_DEADLINE_MS = 60_000;
export const Voice = z.string().min(1).max(128);

export const ttsMethods = defineMethods({
  'tts.synthesize': {
    summary: 'Synthesizes a text into a file of the agent’s workspace.',
    description: 'A [[tts:voice=…]] directive in the text overrides the voice. The default format is Opus on Telegram and MP3 elsewhere.',
    scope: 'rpc',
    params: z.strictObject({
      text: z.string().min(1).max(MAX.text),
      voice: Voice.optional(),
      format: z.string().min(1).max(16).optional().describe('opus, mp3, aac, flac, wav or pcm'),
      idempotencyKey: IdempotencyKey.optional(),
    }),
    result: SpokenFile,
    effect: 'mutate',
    deadlineMs: TTS_DEADLINE_MS,
    blobs: ['text'],
    errors: ['INVALID_ARGUMENT', 'FAILED_PRECONDITION', 'UNAVAILABLE'],
    emits: [MEDIA_USAGE],
    examples: [
      {
        params: { text: 'The train leaves at nine.', voice: 'alloy', format: 'mp3' },
        result: { filePath: 'media/tts/tts-0193a6f2-7c1e-7d44-9a55-1f0c2b7d3e90.mp3', mimeType: 'audio/mpeg', sizeBytes: 24_576 },
      },
    ],
  },
  'tts.auto_check': {
    summary: 'Decides whether a reply should be spoken.',
    scope: 'rpc',
    reads: true,
    tool: false,
    params: z.strictObject({
      response_text: boundedString(MAX.text),
      has_inbound_audio: z.boolean().default(false),
      has_media_url: z.boolean().default(false),
    }),
    result: SpeechDecision,
    idempotent: true,
    blobs: ['response_text', 'strippedText'],
    examples: [
      {
        params: { response_text: '[[tts]]Good morning.', has_inbound_audio: true },
        result: { shouldSynthesize: true, strippedText: 'Good morning.', mode: 'inbound' },
      },
    ],
  },
});
