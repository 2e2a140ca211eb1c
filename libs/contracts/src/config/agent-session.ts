import { z } from 'zod';
import { between, count, flag, positive, ratio, text, texts, timezone, Positive, Count } from './kinds.ts';
import { MAX, boundedString } from '../values/sizes.ts';

const ResetMode = z.enum(['daily', 'idle', 'hybrid', 'none']);

const ResetOverride = z.strictObject({
  mode: ResetMode.optional(),
  dailyResetHour: z.int().min(0).max(23).optional(),
  dailyResetTimezone: boundedString(MAX.line).optional(),
  idleTimeoutMs: Positive.optional(),
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
  .optional()
  .describe('when a session is reset; without a policy never');

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
    softThresholdRatio: ratio(0.75).describe('share of the available context above which compaction starts after a turn'),
    hardThresholdRatio: ratio(0.9).describe('share of the available context above which a turn waits for compaction'),
    flushModel: boundedString(MAX.name).optional().describe('model for summaries if the context engine configures none'),
    chunkMaxChars: positive(50_000).describe('maximum characters of one summary request'),
    chunkOverlapMessages: count(2),
    chunkMergeSummaries: flag(true),
    reserveTokens: positive(16_384).describe('tokens reserved for the answer, at most a quarter of the window'),
    keepRecentTokens: positive(32_768).describe('tokens of the newest messages that are included verbatim'),
    postCompactionSections: texts(['Session Startup', 'Red Lines']),
  })
  .prefault({});

export const session = z.strictObject({ resetPolicy, dmScope, pruning, compaction }).prefault({}).describe('lifetime of a session');

const Name = z.string().min(1).max(128);

/** Delivery target of a heartbeat. */
export const heartbeatTarget = z.strictObject({
  channelType: Name,
  channelId: Name,
  chatId: Name,
  isDm: z.boolean().optional(),
});

/** Heartbeat settings of an agent, in its section and in heartbeat.update. */
export const heartbeatSettings = {
  enabled: z.boolean().optional(),
  intervalMs: Count.optional().describe('0 disables it'),
  prompt: z.string().min(1).max(20_000).optional(),
  model: z.string().min(1).max(256).optional().describe('provider/model; default: the model of the agent'),
  showOk: z.boolean().optional(),
  showAlerts: z.boolean().optional(),
  session: z.string().min(1).max(2048).optional(),
  allowDm: z.boolean().optional(),
  lightContext: z.boolean().optional(),
  ackMaxChars: Positive.optional(),
  responsePrefix: z.string().max(500).optional(),
  skipHeartbeatOnlyDelivery: z.boolean().optional(),
  alertThreshold: Positive.optional().describe('consecutive failures'),
  alertCooldownMs: Positive.optional(),
  staleMs: Positive.optional(),
  toolPolicy: z
    .strictObject({ profile: text('full'), allow: texts(), deny: texts() })
    .optional()
    .describe('default: the profile heartbeat-minimal'),
};

const heartbeat = z
  .strictObject({ ...heartbeatSettings, target: heartbeatTarget.optional() })
  .prefault({})
  .describe('omitted keys follow scheduler.heartbeat');

/** Shared by an agent's jobs and the scheduler's. */
export const cronLimits = {
  enabled: flag(true),
  maxConcurrentRuns: positive(3),
  defaultTimezone: timezone(),
  maxJobs: count(100).describe('0 is unlimited'),
  maxConsecutiveErrors: count(5).describe('consecutive errors after which a job is suspended; 0 never suspends'),
};

export const scheduler = z
  .strictObject({ cron: z.strictObject(cronLimits).prefault({}), heartbeat })
  .prefault({})
  .describe("the agent's own jobs and heartbeat");
