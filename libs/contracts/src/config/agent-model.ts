import { z } from 'zod';
import { flag, positive, share, count, texts, Positive, Tokens } from './kinds.ts';
import { maxKeys } from '../values/max-keys.ts';
import { MAX, boundedString } from '../values/sizes.ts';

const dollars = z.number().positive().max(1_000_000_000).optional();

/** Budgets of an agent per turn, hour and day. */
export const budgets = z
  .strictObject({
    perExecution: Tokens.default(2_000_000),
    perHour: Tokens.default(10_000_000),
    perDay: Tokens.default(100_000_000),
    perExecutionUsd: dollars,
    perHourUsd: dollars,
    perDayUsd: dollars,
    clientShare: share(1).describe('share of the hourly and daily limits that one client may use'),
  })
  .prefault({})
  .describe('tokens, and US dollars by list price; hours and days in UTC');

export const circuitBreaker = z
  .strictObject({ failureThreshold: positive(5), resetTimeoutMs: positive(60_000), halfOpenTimeoutMs: positive(30_000) })
  .prefault({})
  .describe('circuit breaker for failing providers');

export const toolRetryBreaker = z
  .strictObject({
    enabled: flag(true),
    maxConsecutiveFailures: positive(3),
    maxToolFailures: positive(5),
    suggestAlternatives: flag(true),
    maxConsecutiveErrorPatterns: positive(2),
  })
  .prefault({})
  .describe('circuit breaker for failing tools within a turn');

export const modelFailover = z
  .strictObject({
    fallbackModels: z
      .array(z.strictObject({ provider: boundedString(MAX.name), modelId: boundedString(MAX.name) }))
      .max(MAX.few)
      .default([]),
    authProfiles: z
      .array(z.strictObject({ keyName: boundedString(MAX.name), provider: boundedString(MAX.name) }))
      .max(MAX.few)
      .default([]),
    allowedModels: texts().describe('empty allows all models'),
    maxAttempts: positive(6),
    cooldownInitialMs: positive(60_000),
    cooldownMultiplier: z.number().positive().max(1_000).default(5),
    cooldownCapMs: positive(3_600_000),
  })
  .prefault({})
  .describe('failover when a model fails');

export const sdkRetry = z
  .strictObject({ enabled: flag(true), maxRetries: count(5), baseDelayMs: positive(4_000), maxDelayMs: positive(60_000) })
  .prefault({})
  .describe('retries of a model call before its first token');

export const promptTimeout = z
  .strictObject({
    promptTimeoutMs: positive(180_000).describe('longest silence of a model'),
    retryPromptTimeoutMs: positive(60_000),
    stallCeilingMultiplier: z.number().positive().max(1_000).optional().describe('maximum duration of a turn, in prompt timeouts'),
  })
  .prefault({})
  .describe('maximum silence of a model');

const OperationModel = z.strictObject({
  model: boundedString(MAX.name).optional(),
  timeout: Positive.optional().describe('milliseconds'),
});

export const operationModels = z
  .strictObject({
    cron: OperationModel.optional(),
    heartbeat: OperationModel.optional(),
    subagent: OperationModel.optional(),
    compaction: OperationModel.optional(),
    taskExtraction: OperationModel.optional(),
    condensation: OperationModel.optional(),
  })
  .prefault({})
  .describe('models for work other than conversation');

export const Retention = z.enum(['none', 'short', 'long']);

/** How prompts are cached; spread into the agent beside the keys it belongs with. */
export const caching = {
  cacheRetention: Retention.default('long'),
  cacheRetentionOverrides: z.record(boundedString(MAX.name), Retention).check(maxKeys(MAX.many)).optional().describe('by model'),
  adaptiveCacheRetention: flag(true),
  cacheBreakpointStrategy: z.enum(['auto', 'multi-zone', 'single']).default('single'),
  advancedCacheOptimization: z.strictObject({ enableRecentZonePromotion: flag(true) }).prefault({}),
  geminiCache: z.strictObject({ enabled: flag(false), maxActiveCaches: positive(20) }).prefault({}),
};
