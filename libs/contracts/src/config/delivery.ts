import { z } from 'zod';
import { count, Delivery, flag, positive, text, texts, Positive } from './kinds.ts';
import { maxKeys } from '../values/max-keys.ts';
import { MAX, boundedString } from '../values/sizes.ts';

/** The pace between the blocks of an answer. */
export const deliveryTiming = z
  .strictObject({
    mode: z.enum(['off', 'natural', 'custom', 'adaptive']).default('natural'),
    minMs: count(800),
    maxMs: count(2_500),
    jitterMs: count(200),
    firstBlockDelayMs: count(0),
  })
  .prefault({})
  .describe('delay between the blocks of an answer');

/** How small pieces become one block. */
export const coalescer = z
  .strictObject({
    minChars: count(0),
    maxChars: positive(500),
    idleMs: positive(1_500),
    codeBlockPolicy: z.enum(['standalone', 'coalesce']).default('standalone'),
    adaptiveIdle: flag(false),
  })
  .prefault({})
  .describe('merging of small pieces into blocks');

const ChunkMode = z.enum(['paragraph', 'newline', 'sentence', 'length']).default('paragraph');
const TypingMode = z.enum(['never', 'instant', 'thinking', 'message']).default('thinking');
const TableMode = z.enum(['code', 'bullets', 'off']).default('code');
const ReplyMode = z.enum(['off', 'first', 'all']);

const ChannelStreaming = z.strictObject({
  enabled: flag(true),
  chunkMode: ChunkMode,
  chunkMaxChars: Positive.optional(),
  chunkMinChars: count(100),
  deliveryTiming,
  coalescer,
  typingMode: TypingMode,
  typingRefreshMs: positive(6_000),
  typingCircuitBreakerThreshold: positive(3).describe('consecutive failures'),
  typingTtlMs: positive(60_000),
  useMarkdownIR: flag(true),
  tableMode: TableMode,
  replyMode: ReplyMode.default('first'),
  replyModeByChatType: z.record(boundedString(MAX.name), ReplyMode).check(maxKeys(MAX.many)).optional(),
});

/** How an answer appears on a platform, piece by piece. */
export const streaming = z
  .strictObject({
    enabled: flag(true),
    defaultChunkMode: ChunkMode,
    defaultDeliveryTiming: deliveryTiming,
    defaultCoalescer: coalescer,
    defaultTypingMode: TypingMode,
    defaultTypingRefreshMs: positive(6_000),
    defaultTableMode: TableMode,
    defaultUseMarkdownIR: flag(true),
    defaultReplyMode: ReplyMode.default('first'),
    perChannel: z.record(boundedString(MAX.name), ChannelStreaming.prefault({})).check(maxKeys(MAX.many)).default({}),
  })
  .prefault({})
  .describe('streaming of answers to channels');

/** When an agent answers in a group without being named. */
export const autoReplyEngine = z
  .strictObject({
    enabled: flag(true),
    groupActivation: z.enum(['always', 'mention-gated', 'custom']).default('mention-gated'),
    customPatterns: texts(),
    historyInjection: flag(true),
    maxHistoryInjections: positive(50),
    maxGroupHistoryMessages: positive(20),
  })
  .prefault({})
  .describe('when an agent answers in a group');

const SendRule = z.strictObject({
  channelId: boundedString(MAX.name).optional(),
  chatType: boundedString(MAX.name).optional(),
  channelType: boundedString(MAX.name).optional(),
  action: Delivery.default('allow'),
  description: boundedString(MAX.line).optional(),
});

/** Where agents may send. */
export const sendPolicy = z
  .strictObject({ enabled: flag(true), defaultAction: Delivery.default('allow'), rules: z.array(SendRule).max(MAX.many).default([]) })
  .prefault({})
  .describe('targets that agents may send to');

/** Message metadata that is included in the prompt. */
export const envelope = z
  .strictObject({
    timezoneMode: text('utc').describe('utc, local, or an IANA name'),
    timeFormat: z.enum(['12h', '24h']).default('12h'),
    showElapsed: flag(true),
    showProvider: flag(true),
    elapsedMaxMs: positive(86_400_000),
  })
  .prefault({})
  .describe('message envelope');

const EmojiTier = z.enum(['unicode', 'platform', 'custom']);

/** Reactions that show how far an answer is. */
export const lifecycleReactions = z
  .strictObject({
    enabled: flag(false),
    emojiTier: EmojiTier.default('unicode'),
    timing: z
      .strictObject({
        debounceMs: count(700),
        holdDoneMs: count(3_000),
        holdErrorMs: count(5_000),
        stallSoftMs: positive(15_000),
        stallHardMs: positive(30_000),
      })
      .prefault({}),
    perChannel: z
      .record(boundedString(MAX.name), z.strictObject({ enabled: z.boolean().optional(), emojiTier: EmojiTier.optional() }))
      .check(maxKeys(MAX.many))
      .default({}),
  })
  .prefault({})
  .describe('reactions that show progress');

/** A text put before or after every answer. */
export const responsePrefix = z
  .strictObject({ template: text(), position: z.enum(['prepend', 'append']).default('prepend') })
  .prefault({})
  .describe('text added before or after every answer');

/** The queue of outgoing deliveries. */
export const deliveryQueue = z
  .strictObject({
    enabled: flag(true),
    maxQueueDepth: positive(10_000),
    defaultMaxAttempts: positive(5),
    defaultExpireMs: positive(3_600_000),
    drainOnStartup: flag(true),
    drainBudgetMs: positive(60_000),
    pruneIntervalMs: positive(300_000),
  })
  .prefault({})
  .describe('delivery queue');

/** Copies of deliveries to other chats in the session. */
export const deliveryMirror = z
  .strictObject({
    enabled: flag(true),
    retentionMs: positive(86_400_000),
    pruneIntervalMs: positive(300_000),
    maxEntriesPerInjection: positive(10),
    maxCharsPerInjection: positive(4_000),
  })
  .prefault({})
  .describe('deliveries reported to a session');

/** How a sender is shown to the agent. */
export const senderTrustDisplay = z
  .strictObject({
    enabled: flag(false),
    displayMode: z.enum(['raw', 'hash', 'alias']).default('hash'),
    hashPrefix: z.int().min(4).max(16).default(8).describe('characters'),
    hashSecretRef: text().describe('name of a secret'),
    aliases: z.record(boundedString(MAX.name), boundedString(MAX.name)).check(maxKeys(MAX.many)).default({}),
  })
  .prefault({})
  .describe('presentation of the sender to the agent');

/** Keeps file names from becoming links. */
export const telegramFileRefGuard = z
  .strictObject({ enabled: flag(true), additionalExtensions: texts(), excludedExtensions: texts() })
  .prefault({})
  .describe('prevents file names from becoming links');
