import { z } from 'zod';
import { Base64, Count, DurationMs, NoParams } from '../values/common.ts';
import { defineMethods } from '../definition/define.ts';
import { Language, Transcript, TRANSCRIBE_DEADLINE_MS } from './audio.ts';
import { IMAGE_DEADLINE_MS, VisualDescription } from './image.ts';
import { EnrichedText, LINK_DEADLINE_MS } from './link.ts';
import { TTS_DEADLINE_MS, Voice } from './tts.ts';
import { MAX, boundedString } from '../values/sizes.ts';
import { MEDIA_USAGE } from './usage-event.ts';

/** The text of a document, as far as it goes. */
export const DocumentText = z.object({
  text: boundedString(MAX.text),
  fileName: boundedString(MAX.path).optional(),
  mimeType: boundedString(MAX.name),
  extractedChars: Count,
  truncated: z.boolean().describe('truncated at the character limit'),
  durationMs: DurationMs,
  pageCount: Count.optional(),
  notice: z.enum(['scanned']).optional().describe('scanned: the pages have no text'),
});

const tested = { provider: boundedString(MAX.name), model: boundedString(MAX.name) };

export const TranscriptionTest = Transcript.extend({ ...tested, sizeBytes: Count.optional() });

export const SpeechTest = z.object({
  audio: boundedString(MAX.payload).describe('base64'),
  mimeType: boundedString(MAX.name),
  sizeBytes: Count,
  provider: boundedString(MAX.name),
  voice: boundedString(MAX.name),
  model: boundedString(MAX.name).optional(),
});

export const VisualTest = VisualDescription.extend({ sizeBytes: Count.optional() });

const provider = {
  configured: z.boolean(),
  provider: boundedString(MAX.name).nullable().optional(),
  model: boundedString(MAX.name).optional(),
};

/** Supported kinds of media and their providers. */
export const MediaProviders = z.object({
  providers: z.object({
    stt: z.object({ ...provider, fallbackProviders: z.array(boundedString(MAX.name)).max(MAX.many).optional() }),
    tts: z.object({
      ...provider,
      voice: boundedString(MAX.name).optional(),
      format: boundedString(MAX.name).optional(),
      autoMode: boundedString(MAX.name).optional(),
    }),
    vision: z.object({
      ...provider,
      providers: z.array(boundedString(MAX.name)).max(MAX.many).optional(),
      defaultProvider: boundedString(MAX.name).nullable().optional(),
      videoCapable: z.boolean().optional(),
    }),
    imageGen: z.object({ ...provider, maxPerHour: Count.optional() }),
    documentExtraction: z.object({
      configured: z.boolean(),
      enabled: z.boolean().optional(),
      supportedMimes: z.array(boundedString(MAX.line)).max(MAX.many).optional(),
    }),
    linkUnderstanding: z.object({ configured: z.boolean(), enabled: z.boolean().optional(), maxLinks: Count.optional() }),
  }),
});

const DOCUMENT_DEADLINE_MS = 60_000;
const VIDEO_DEADLINE_MS = 180_000;
const AttachmentUrl = z.string().min(1).max(8192).describe('http(s) or the scheme of a channel');
const PublicUrl = z.string().min(1).max(8192);

export const mediaMethods = defineMethods({
  'media.transcribe': {
    summary: 'Transcribes an audio attachment.',
    description: 'The audio format is detected from the first bytes.',
    scope: 'rpc',
    tool: { name: 'transcribe_audio' },
    effect: 'read',
    params: z.strictObject({ attachment_url: AttachmentUrl, language: Language.optional() }),
    result: Transcript,
    deadlineMs: TRANSCRIBE_DEADLINE_MS,
    idempotent: true,
    blobs: ['text'],
    errors: ['NOT_FOUND', 'PERMISSION_DENIED', 'FAILED_PRECONDITION', 'UNAVAILABLE'],
    emits: [MEDIA_USAGE],
    examples: [
      {
        params: { attachment_url: 'http://example.com/note.ogg' },
        result: { text: 'Remind me at nine.', language: 'en', durationMs: 1900 },
      },
    ],
  },
  'media.describe_video': {
    summary: 'Describes a video.',
    scope: 'rpc',
    tool: { name: 'describe_video' },
    effect: 'read',
    params: z.strictObject({ attachment_url: AttachmentUrl, prompt: z.string().min(1).max(10_000).optional() }),
    result: VisualDescription,
    deadlineMs: VIDEO_DEADLINE_MS,
    idempotent: true,
    blobs: ['prompt', 'description'],
    errors: ['NOT_FOUND', 'PERMISSION_DENIED', 'FAILED_PRECONDITION', 'UNAVAILABLE'],
    emits: [MEDIA_USAGE, 'observability:token_usage'],
    examples: [
      {
        params: { attachment_url: 'http://example.com/yard.mp4' },
        result: { description: 'A train is shunted onto the third track.', provider: 'google', model: 'gemini-3.5-flash-lite' },
      },
    ],
  },
  'media.extract_document': {
    summary: 'Extracts the text of a document.',
    scope: 'rpc',
    tool: { name: 'extract_document' },
    effect: 'read',
    params: z.strictObject({ attachment_url: AttachmentUrl }),
    result: DocumentText,
    deadlineMs: DOCUMENT_DEADLINE_MS,
    idempotent: true,
    blobs: ['text'],
    errors: ['NOT_FOUND', 'INVALID_ARGUMENT', 'PERMISSION_DENIED', 'FAILED_PRECONDITION'],
    emits: ['security:injection_detected'],
    examples: [
      {
        params: { attachment_url: 'http://example.com/timetable.pdf' },
        result: {
          text: 'Departures from Oslo S …',
          fileName: 'timetable.pdf',
          mimeType: 'application/pdf',
          extractedChars: 24,
          truncated: false,
          durationMs: 310,
          pageCount: 1,
        },
      },
    ],
  },
  'media.test.stt': {
    summary: 'Tests speech-to-text with the given audio or a sample.',
    scope: 'admin',
    params: z.strictObject({ audio: Base64.optional(), language: Language.optional() }),
    result: TranscriptionTest,
    deadlineMs: TRANSCRIBE_DEADLINE_MS,
    idempotent: true,
    blobs: ['audio', 'text'],
    errors: ['FAILED_PRECONDITION', 'UNAVAILABLE'],
    emits: [MEDIA_USAGE],
    examples: [
      {
        params: { audio: 'T2dnUwACAAA=' },
        result: { text: 'One, two, three.', durationMs: 1400, provider: 'openai', model: 'gpt-4o-mini-transcribe' },
      },
    ],
  },
  'media.test.tts': {
    summary: 'Tests text-to-speech and returns the audio.',
    scope: 'admin',
    params: z.strictObject({
      text: z.string().min(1).max(MAX.text),
      voice: Voice.optional(),
      provider: z.string().min(1).max(64).optional(),
    }),
    result: SpeechTest,
    deadlineMs: TTS_DEADLINE_MS,
    idempotent: true,
    blobs: ['audio', 'text'],
    errors: ['FAILED_PRECONDITION', 'UNAVAILABLE'],
    emits: [MEDIA_USAGE],
    examples: [
      {
        params: { text: 'One, two, three.', voice: 'alloy' },
        result: { audio: 'T2dnUwACAAA=', mimeType: 'audio/ogg', sizeBytes: 8, provider: 'openai', voice: 'alloy', model: 'tts-1' },
      },
    ],
  },
  'media.test.vision': {
    summary: 'Tests image understanding with the given image or a sample.',
    scope: 'admin',
    params: z.strictObject({ image: Base64.optional(), url: PublicUrl.optional() }),
    result: VisualTest,
    deadlineMs: IMAGE_DEADLINE_MS,
    idempotent: true,
    blobs: ['image', 'description'],
    errors: ['FAILED_PRECONDITION', 'UNAVAILABLE', 'PERMISSION_DENIED'],
    emits: [MEDIA_USAGE, 'observability:token_usage'],
    examples: [
      {
        params: { url: 'http://example.com/yard.png' },
        result: { description: 'A railway yard.', provider: 'openai', model: 'gpt-4o', sizeBytes: 18_204 },
      },
    ],
  },
  'media.test.document': {
    summary: 'Tests document extraction with a workspace file.',
    scope: 'admin',
    params: z.strictObject({
      file_path: z.string().min(1).max(4096),
      content: Base64.optional().describe('the file itself; default: it is read from the workspace'),
    }),
    result: DocumentText,
    deadlineMs: DOCUMENT_DEADLINE_MS,
    idempotent: true,
    blobs: ['content', 'text'],
    errors: ['NOT_FOUND', 'INVALID_ARGUMENT', 'FAILED_PRECONDITION'],
    emits: ['security:injection_detected'],
    examples: [
      {
        params: { file_path: 'documents/timetable.txt' },
        result: { text: 'Departures', mimeType: 'text/plain', extractedChars: 10, truncated: false, durationMs: 4 },
      },
    ],
  },
  'media.test.video': {
    summary: 'Tests video understanding with the video at an address.',
    description: 'No sample video is included: with a configured provider the address is required.',
    scope: 'admin',
    params: z.strictObject({ url: PublicUrl.optional() }),
    result: VisualTest,
    deadlineMs: VIDEO_DEADLINE_MS,
    idempotent: true,
    blobs: ['description'],
    errors: ['INVALID_ARGUMENT', 'FAILED_PRECONDITION', 'UNAVAILABLE', 'PERMISSION_DENIED'],
    emits: [MEDIA_USAGE, 'observability:token_usage'],
    examples: [
      {
        params: { url: 'http://example.com/yard.mp4' },
        result: { description: 'A train is shunted.', provider: 'google', model: 'gemini-3.5-flash-lite' },
      },
    ],
  },
  'media.test.link': {
    summary: 'Tests link understanding with one address.',
    scope: 'admin',
    params: z.strictObject({ url: PublicUrl }),
    result: EnrichedText,
    deadlineMs: LINK_DEADLINE_MS,
    idempotent: true,
    blobs: ['enrichedText', 'errors'],
    emits: ['security:injection_detected'],
    examples: [
      {
        params: { url: 'http://example.com' },
        result: { enrichedText: 'http://example.com\n\nExample Domain', linksProcessed: 1, errors: [] },
      },
    ],
  },
  'media.providers': {
    summary: 'Lists the providers of transcription, speech, vision and image generation, and missing configuration.',
    scope: 'admin',
    params: NoParams,
    result: MediaProviders,
    idempotent: true,
    blobs: ['providers'],
    examples: [
      {
        params: {},
        result: {
          providers: {
            stt: { configured: true, provider: 'openai', model: 'gpt-4o-mini-transcribe' },
            tts: { configured: true, provider: 'openai', voice: 'alloy', format: 'opus', autoMode: 'off' },
            vision: { configured: true, providers: ['openai'], defaultProvider: 'openai', videoCapable: false },
            imageGen: { configured: false, provider: null },
            documentExtraction: { configured: true, enabled: true, supportedMimes: ['application/pdf', 'text/plain'] },
            linkUnderstanding: { configured: true, enabled: true, maxLinks: 3 },
          },
        },
      },
    ],
  },
});
