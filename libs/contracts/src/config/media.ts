import { z } from 'zod';
import { count, Delivery, flag, positive, SpeechMode, text, Positive } from './kinds.ts';
import { MAX, boundedString } from '../values/sizes.ts';

const Transcriber = z.enum(['openai', 'groq', 'deepgram']);
const VisionProvider = z.enum(['openai', 'anthropic', 'google']);

const DOCUMENT_TYPES = [
  'text/plain',
  'text/csv',
  'text/markdown',
  'text/html',
  'text/xml',
  'application/json',
  'application/xml',
  'application/pdf',
  'text/yaml',
  'application/x-yaml',
  'text/javascript',
  'text/x-python',
  'text/x-typescript',
  'application/x-sh',
  'image/svg+xml',
  'message/rfc822',
  'application/epub+zip',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  'application/vnd.oasis.opendocument.text',
  'application/vnd.oasis.opendocument.spreadsheet',
  'application/vnd.oasis.opendocument.presentation',
];

const transcription = z
  .strictObject({
    provider: Transcriber.default('openai'),
    model: boundedString(MAX.name).optional(),
    maxFileSizeMb: z.number().positive().max(10_000).default(25),
    timeoutMs: positive(60_000),
    language: boundedString(MAX.name).optional(),
    autoTranscribe: flag(true),
    preflight: flag(true),
    fallbackProviders: z.array(Transcriber).max(MAX.few).default([]).describe('tried in order'),
  })
  .prefault({});

const ScopeRule = z.strictObject({
  channel: boundedString(MAX.name).optional(),
  chatType: boundedString(MAX.name).optional(),
  keyPrefix: boundedString(MAX.line).optional(),
  action: Delivery,
});

const vision = z
  .strictObject({
    enabled: flag(true),
    providers: z.array(VisionProvider).max(MAX.few).default(['openai', 'anthropic', 'google']),
    defaultProvider: boundedString(MAX.name).optional(),
    videoMaxBase64Bytes: positive(70_000_000),
    videoMaxRawBytes: positive(50_000_000),
    videoTimeoutMs: positive(120_000),
    videoMaxDescriptionChars: positive(500),
    imageMaxFileSizeMb: z.number().positive().max(10_000).default(20),
    scopeRules: z.array(ScopeRule).max(MAX.few).default([]).describe('the first match applies'),
    defaultScopeAction: Delivery.default('allow'),
  })
  .prefault({});

const linkUnderstanding = z
  .strictObject({
    enabled: flag(true),
    maxLinks: positive(3),
    fetchTimeoutMs: positive(10_000),
    maxContentChars: positive(5_000),
    userAgentString: text('Switchyard/1.0'),
  })
  .prefault({});

const documentExtraction = z
  .strictObject({
    enabled: flag(true),
    allowedMimes: z.array(boundedString(MAX.name)).max(MAX.many).default(DOCUMENT_TYPES),
    maxBytes: positive(10_485_760),
    maxChars: positive(200_000).describe('maximum for one document'),
    maxTotalChars: positive(500_000).describe('maximum for one message'),
    maxPages: positive(20),
    timeoutMs: positive(30_000),
    pdfImageFallback: flag(false),
    pdfImageFallbackThreshold: count(50).describe('characters per page'),
  })
  .prefault({});

/** Processing of audio, images, documents and links. */
export const media = z
  .strictObject({
    transcription,
    imageAnalysis: z.strictObject({ maxFileSizeMb: z.number().positive().max(10_000).default(20) }).prefault({}),
    vision,
    linkUnderstanding,
    infrastructure: z
      .strictObject({
        maxRemoteFetchBytes: positive(26_214_400),
        concurrencyLimit: positive(3),
        tempFileTtlMs: positive(1_800_000),
        tempCleanupIntervalMs: positive(300_000),
      })
      .prefault({}),
    documentExtraction,
    store: z.strictObject({ ttlMs: Positive.optional().describe('retention of a file; default: until the storage is full') }).prefault({}),
    persistence: z.strictObject({ enabled: flag(true), maxStorageMb: positive(1_024), maxFileBytes: positive(52_428_800) }).prefault({}),
  })
  .prefault({})
  .describe('audio, images, documents and links');

/** Speech made from text. */
export const tts = z
  .strictObject({
    provider: z.enum(['openai', 'elevenlabs', 'edge']).default('openai'),
    voice: text('alloy'),
    format: text('opus'),
    model: boundedString(MAX.name).optional(),
    autoMode: SpeechMode.default('off').describe('never equals off, voice_reply equals inbound'),
    maxTextLength: positive(4_096).describe('characters'),
    tagPattern: text(String.raw`\[\[tts(?::.*?)?\]\]`).describe('regular expression'),
    outputFormats: z
      .strictObject({ telegram: text('opus'), discord: text('mp3'), whatsapp: text('mp3'), slack: text('mp3'), default: text('mp3') })
      .prefault({}),
    elevenlabsSettings: z
      .strictObject({
        stability: z.number().min(0).max(1).optional(),
        similarityBoost: z.number().min(0).max(1).optional(),
        style: z.number().min(0).max(1).optional(),
        useSpeakerBoost: z.boolean().optional(),
        speed: z.number().min(0.1).max(10).optional(),
        seed: z.int().min(0).max(4_294_967_295).optional(),
        applyTextNormalization: z.enum(['auto', 'on', 'off']).default('auto'),
      })
      .prefault({}),
  })
  .prefault({})
  .describe('speech synthesis');

/** Pictures made from text. */
export const imageGen = z
  .strictObject({
    provider: z.enum(['fal', 'openai']).default('fal'),
    model: boundedString(MAX.name).optional(),
    safetyChecker: flag(true),
    maxPerHour: positive(10).describe('images per agent'),
    defaultSize: text('1024x1024').describe('pixels, width x height'),
    timeoutMs: positive(60_000),
  })
  .prefault({})
  .describe('image generation');
