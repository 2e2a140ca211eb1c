import { z } from 'zod';
import { between, count, flag, positive, ratio, text, texts, timezone } from './kinds.ts';
import { MAX } from '../sizes.ts';

const ResetMode = z.enum(['daily', 'idle', 'hybrid', 'none']);

const ResetOverride = z.strictObject({
  mode: ResetMode.optional(),
  dailyResetHour: z.int().min(0).max(23).optional(),
  dailyResetTimezone: z.string().max(MAX.line).optional(),
  idleTimeoutMs: z.int().positive().optional(),
});

const resetPolicy = z
  .strictObject({
    mode: ResetMode.default('daily'),
    dailyResetHour: between(0, 23, 4),
    dailyResetTimezone: timezone(),
    idleTimeoutMs: positive(14_400_000),
    sweepIntervalMs: positive(300_000),
    resetTriggers: texts(),
    perType: z
      .strictObject({ dm: ResetOverride.optional(), group: ResetOverride.optional(), thread: ResetOverride.optional() })
      .prefault({}),
  })
  .prefault({})
  .describe('when a session starts anew');

const dmScope = z
  .strictObject({
    mode: z.enum(['main', 'per-peer', 'per-channel-peer', 'per-account-channel-peer']).default('per-channel-peer'),
    agentPrefix: flag(false),
    threadIsolation: flag(true),
  })
  .prefault({})
  .describe('which direct messages share a session');

const pruning = z
  .strictObject({
    enabled: flag(true),
    softTrimThresholdChars: positive(8_000),
    hardClearThresholdChars: positive(30_000),
    preserveHeadChars: count(500),
    preserveTailChars: count(500),
    pruneableTools: texts(),
    protectedTools: texts(),
    protectImageBlocks: flag(true),
    preserveRecentCount: count(6).describe('messages'),
  })
  .prefault({});

const compaction = z
  .strictObject({
    softThresholdRatio: ratio(0.75),
    hardThresholdRatio: ratio(0.9),
    flushModel: z.string().max(MAX.name).optional(),
    chunkMaxChars: positive(50_000),
    chunkOverlapMessages: count(2),
    chunkMergeSummaries: flag(true),
    reserveTokens: positive(16_384),
    keepRecentTokens: positive(32_768),
    postCompactionSections: texts(['Session Startup', 'Red Lines']),
  })
  .prefault({});

export const session = z.strictObject({ resetPolicy, dmScope, pruning, compaction }).prefault({}).describe('the life of a session');

const heartbeatTarget = z.strictObject({
  channelType: z.string().max(MAX.name),
  channelId: z.string().max(MAX.name),
  chatId: z.string().max(MAX.name),
  isDm: z.boolean().optional(),
});

const heartbeat = z
  .strictObject({
    enabled: z.boolean().optional(),
    intervalMs: z.int().nonnegative().optional().describe('0 turns it off'),
    showOk: z.boolean().optional(),
    showAlerts: z.boolean().optional(),
    prompt: z.string().max(MAX.text).optional(),
    session: z.string().max(MAX.line).optional(),
    allowDm: z.boolean().optional(),
    lightContext: z.boolean().optional(),
    ackMaxChars: z.int().positive().optional(),
    responsePrefix: z.string().max(MAX.line).optional(),
    skipHeartbeatOnlyDelivery: z.boolean().optional(),
    alertThreshold: z.int().positive().optional().describe('failures in a row'),
    alertCooldownMs: z.int().positive().optional(),
    staleMs: z.int().positive().optional(),
    target: heartbeatTarget.optional(),
    toolPolicy: z.strictObject({ profile: text('full'), allow: texts(), deny: texts() }).prefault({}),
  })
  .prefault({})
  .describe('what is left out follows scheduler.heartbeat');

/** Shared by an agent's jobs and the scheduler's. */
export const cronLimits = {
  enabled: flag(true),
  maxConcurrentRuns: positive(3),
  defaultTimezone: timezone(),
  maxJobs: count(100).describe('0 is without a bound'),
  maxConsecutiveErrors: count(5).describe('a job is suspended after so many; 0 never'),
};

export const scheduler = z
  .strictObject({ cron: z.strictObject(cronLimits).prefault({}), heartbeat })
  .prefault({})
  .describe("the agent's own jobs and heartbeat");
