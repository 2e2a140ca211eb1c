import { z } from 'zod';
import { AgentId } from '../values/common.ts';
import { contextEngine, contextGuard, contextPruning } from './agent-context.ts';
import * as model from './agent-model.ts';
import { scheduler, session } from './agent-session.ts';
import { skills } from './agent-skills.ts';
import { between, count, flag, positive, ratio, share, text, texts, Positive } from './kinds.ts';
import { createPatchSchema } from './patch.ts';
import { maxKeys } from '../values/max-keys.ts';
import { MAX, boundedString } from '../values/sizes.ts';

const BroadcastGroup = z.strictObject({
  id: boundedString(MAX.id),
  name: text(),
  targets: z
    .array(z.strictObject({ channelType: boundedString(MAX.name), channelId: boundedString(MAX.name), chatId: boundedString(MAX.name) }))
    .max(MAX.many)
    .default([]),
  enabled: flag(true),
});

const rag = z
  .strictObject({
    enabled: flag(true),
    maxResults: positive(5),
    maxContextChars: positive(4_000),
    minScore: ratio(0.1),
    includeTrustLevels: z
      .array(z.enum(['system', 'learned', 'external']))
      .max(MAX.few)
      .default(['system', 'learned']),
    rerank: z.strictObject({ enabled: flag(false), timeoutMs: positive(800) }).prefault({}),
    capture: z
      .enum(['off', 'asked', 'all'])
      .default('asked')
      .describe('memories captured from a turn: none, only on request of the message, or every exchange'),
  })
  .prefault({})
  .describe('memories included in the prompt');

const bootstrap = z
  .strictObject({
    maxChars: positive(20_000),
    promptMode: z.enum(['full', 'minimal', 'none']).default('full'),
    groupChatFiltering: flag(true),
  })
  .prefault({});

const elevatedReply = z
  .strictObject({
    enabled: flag(false),
    trustModelRoutes: z.record(boundedString(MAX.name), boundedString(MAX.name)).check(maxKeys(MAX.many)).default({}),
    trustPromptOverrides: z.record(boundedString(MAX.name), boundedString(MAX.text)).check(maxKeys(MAX.many)).default({}),
    defaultTrustLevel: text('external'),
    senderTrustMap: z.record(boundedString(MAX.name), boundedString(MAX.name)).check(maxKeys(MAX.many)).default({}),
  })
  .prefault({});

const sep = z
  .strictObject({
    enabled: flag(true),
    minSteps: between(2, 10, 3),
    verificationNudge: flag(true),
    maxSteps: between(3, 30, 15),
    userVisibleProgress: flag(false),
  })
  .prefault({})
  .describe('structured execution plans');

const notification = z
  .strictObject({
    enabled: flag(true),
    maxPerHour: positive(30),
    dedupeWindowMs: count(300_000),
    maxChainDepth: count(0),
    primaryChannel: z.strictObject({ channelType: boundedString(MAX.name), channelId: boundedString(MAX.name) }).optional(),
  })
  .prefault({});

const VerbosityLevel = z.enum(['auto', 'terse', 'concise', 'standard', 'detailed']);

const VerbosityOverride = z.strictObject({
  level: VerbosityLevel.optional(),
  maxResponseChars: Positive.optional(),
  useMarkdown: z.boolean().optional(),
  allowCodeBlocks: z.boolean().optional(),
});

const verbosity = z
  .strictObject({
    enabled: flag(true),
    defaultLevel: VerbosityLevel.default('auto'),
    threadLevel: VerbosityLevel.optional(),
    overrides: z.record(boundedString(MAX.name), VerbosityOverride).check(maxKeys(MAX.many)).default({}).describe('by channel'),
  })
  .prefault({});

const deferredTools = z
  .strictObject({ mode: z.enum(['always', 'auto', 'never']).default('auto'), neverDefer: texts(), alwaysDefer: texts() })
  .prefault({});

const backgroundTasks = z
  .strictObject({
    enabled: flag(true),
    autoBackgroundMs: positive(10_000),
    maxPerAgent: positive(5),
    maxTotal: positive(20),
    maxBackgroundDurationMs: positive(300_000),
    excludeTools: texts(),
  })
  .prefault({});

const memoryReview = z
  .strictObject({
    enabled: flag(false),
    schedule: text('0 2 * * *').describe('cron expression'),
    minMessages: positive(5).describe('minimum number of messages of a session'),
    maxSessionsPerRun: positive(10).describe('number of newest sessions'),
    maxReviewTokens: positive(4_096).describe('tokens of memories that start one review'),
    dedupThreshold: ratio(0.85),
    autoTags: texts(),
  })
  .prefault({});

/** One agent, with everything it leaves out filled in. */
export const AgentConfig = z
  .strictObject({
    name: text('Switchyard'),
    model: text('default').describe('a model id, an alias, or default'),
    provider: text('default'),
    maxSteps: positive(150).describe('model calls in one turn'),
    thinkingLevel: z.enum(['off', 'minimal', 'low', 'medium', 'high', 'xhigh']).optional(),
    maxTokens: Positive.optional().describe('tokens of one answer'),
    temperature: z.number().min(0).max(2).optional(),
    ...model.caching,
    enforceFinalTag: flag(false),
    fastMode: flag(false),
    storeCompletions: flag(false),
    maxContextChars: positive(100_000),
    maxToolResultChars: positive(50_000),
    preserveRecent: count(4).describe('messages'),
    workspacePath: boundedString(MAX.path).optional(),
    reactionLevel: z.enum(['minimal', 'extensive']).optional(),
    broadcastGroups: z.array(BroadcastGroup).max(MAX.few).default([]),
    oauthProfiles: z
      .record(boundedString(MAX.name), boundedString(MAX.name))
      .check(maxKeys(MAX.many))
      .optional()
      .describe('profile by provider'),
    budgets: model.budgets,
    circuitBreaker: model.circuitBreaker,
    toolRetryBreaker: model.toolRetryBreaker,
    workspace: z.strictObject({ profile: z.enum(['full', 'specialist']).default('full') }).prefault({}),
    modelRoutes: z.strictObject({ default: boundedString(MAX.name).optional() }).prefault({}),
    rag,
    bootstrap,
    modelFailover: model.modelFailover,
    sdkRetry: model.sdkRetry,
    promptTimeout: model.promptTimeout,
    operationModels: model.operationModels,
    skills,
    scheduler,
    session,
    concurrency: z
      .strictObject({
        maxConcurrentRuns: positive(4),
        maxQueuedPerSession: positive(50),
        clientShare: share(1).describe('share of maxConcurrentRuns that one client may use on a replica; rounded down, at least one turn'),
      })
      .prefault({}),
    elevatedReply,
    tracing: z.strictObject({ enabled: flag(false), outputDir: text('{dataDir}/traces') }).prefault({}),
    secrets: z.strictObject({ allow: texts() }).prefault({}).describe('names of secrets its tools may read'),
    contextGuard,
    contextPruning,
    contextEngine,
    sourceGate: z.strictObject({ maxResponseBytes: positive(2_000_000), stripHiddenHtml: flag(true) }).prefault({}),
    toolLifecycle: z.strictObject({ enabled: flag(true), demotionThreshold: positive(20) }).prefault({}),
    sep,
    notification,
    verbosity,
    deferredTools,
    backgroundTasks,
    memoryReview,
  })
  .describe('one agent');
export type AgentConfig = z.output<typeof AgentConfig>;

/** Params of `agents.create` and `agents.update`: any part of an agent, without defaults. */
export const AgentPatch = createPatchSchema(AgentConfig);
export type AgentPatch = z.output<typeof AgentPatch>;

export const agents = z
  .record(AgentId, AgentConfig.prefault({}))
  .check(maxKeys(MAX.many))
  .prefault({ default: {} })
  .describe('agents by id');
