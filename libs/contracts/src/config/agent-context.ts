import { z } from 'zod';
import { between, count, flag, percent, positive, ratio, text, texts } from './kinds.ts';
import { maxKeys } from '../values/max-keys.ts';
import { MAX, boundedString } from '../values/sizes.ts';

export const contextGuard = z
  .strictObject({
    enabled: flag(true),
    warnPercent: percent(80),
    blockPercent: percent(95),
    maxRepeats: between(2, 100, 5).describe('identical consecutive steps, including tool results'),
  })
  .prefault({})
  .describe('warns and then ends a turn whose context fills up or that repeats itself');

export const contextPruning = z
  .strictObject({
    enabled: flag(true),
    softTrimRatio: ratio(0.3),
    hardClearRatio: ratio(0.5),
    keepLastAssistants: count(3),
    minPrunableToolChars: positive(4_000),
    protectedTools: texts(['memory_search', 'memory_get', 'memory_store', 'file_read']),
  })
  .prefault({})
  .describe('trims old tool results');

const budget = z
  .strictObject({
    effectiveContextCapSmall: count(32_000).describe('tokens, models of class small; 0 is unlimited'),
    effectiveContextCapNano: count(16_000).describe('tokens, models of class nano; 0 is unlimited'),
    minVisibleOutputTokens: between(256, 8_192, 768),
  })
  .prefault({});

const summarizerSpend = z
  .strictObject({ maxTokensPerTenantPerHour: positive(500_000), maxTokensPerTenantPerDay: positive(5_000_000) })
  .prefault({});

const summarizerBreaker = z
  .strictObject({ failureThreshold: positive(5), resetTimeoutMs: positive(60_000), halfOpenTimeoutMs: positive(30_000) })
  .prefault({});

const compaction = z
  .strictObject({ preferEvictionByCapability: flag(true), strongerSummarizerModel: text(), summarizerFallbackProviders: texts() })
  .prefault({});

const distillFromLcd = z.strictObject({ enabled: flag(false), minDepth: positive(1), dedupCosineThreshold: ratio(0.92) }).prefault({});

/** Default of `contextThreshold`. With it, `session.compaction.softThresholdRatio` applies. */
export const USUAL_CONTEXT_THRESHOLD = 0.75;

export const contextEngine = z
  .strictObject({
    enabled: flag(true),
    version: z.enum(['pipeline', 'dag']).default('pipeline'),
    thinkingKeepTurns: between(1, 50, 10),
    replayDriftIdleMs: between(60_000, 86_400_000, 1_800_000),
    compactionModel: text().describe('provider/model; empty selects the model of the turn'),
    evictionMinAge: between(3, 50, 15).describe('turns'),
    historyTurns: between(3, 100, 15),
    historyTurnOverrides: z
      .record(boundedString(MAX.name), z.int().min(1).max(100))
      .check(maxKeys(MAX.many))
      .optional()
      .describe('turns by kind of chat'),
    observationKeepWindow: between(1, 50, 25).describe('tool results'),
    observationTriggerChars: between(50_000, 1_000_000, 120_000),
    observationDeactivationChars: between(20_000, 500_000, 80_000),
    ephemeralKeepWindow: between(1, 50, 10).describe('tool results'),
    compactionCooldownTurns: between(1, 50, 5),
    compactionPrefixAnchorTurns: between(0, 10, 2),
    freshTailTurns: between(1, 50, 8),
    contextThreshold: z.number().min(0.1).max(0.95).default(USUAL_CONTEXT_THRESHOLD).describe('share of the context window'),
    leafMinFanout: between(2, 20, 8),
    condensedMinFanout: between(2, 20, 4),
    condensedMinFanoutHard: between(2, 10, 2),
    incrementalMaxDepth: between(-1, 10, 0).describe('-1 is unlimited'),
    leafChunkTokens: between(1_000, 100_000, 20_000),
    leafTargetTokens: between(96, 5_000, 1_200),
    condensedTargetTokens: between(256, 10_000, 2_000),
    maxExpandTokens: between(500, 50_000, 4_000),
    maxRecallsPerDay: between(1, 100, 10),
    recallTimeoutMs: between(10_000, 600_000, 120_000),
    largeFileTokenThreshold: between(1_000, 200_000, 25_000),
    annotationKeepWindow: between(1, 50, 15).describe('tool results'),
    annotationTriggerChars: between(10_000, 1_000_000, 200_000),
    summaryModel: boundedString(MAX.name).optional(),
    summaryProvider: boundedString(MAX.name).optional(),
    outputEscalation: z.strictObject({ enabled: flag(true), escalatedMaxTokens: between(4_096, 128_000, 32_768) }).prefault({}),
    postBatchContinuation: z.strictObject({ enabled: flag(true), maxRetries: between(0, 5, 2) }).prefault({}),
    budget,
    deferCompaction: flag(true),
    summarizerSpend,
    summarizerBreaker,
    compaction,
    compactPrompt: z.strictObject({ enabled: flag(true), targetTokens: positive(3_000) }).prefault({}),
    memory: z.strictObject({ distillFromLcd }).prefault({}),
  })
  .prefault({})
  .describe('how a long conversation is fitted into the context window');
