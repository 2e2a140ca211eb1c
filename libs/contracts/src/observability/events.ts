import { z } from 'zod';
import { AgentId, Count, DurationMs, JsonObject, SessionKey, Timestamp, Usd } from '../values/common.ts';
import { defineEvents } from '../definition/define.ts';
import { ChannelActivity, channelActivityExample, OBSERVATION_TABLES, RowsDeleted } from './records.ts';
import { MAX, boundedString } from '../values/sizes.ts';

const timestamp = Timestamp;

/** Usage and cost of one model call. */
export const TokenUsage = z.object({
  timestamp,
  traceId: boundedString(MAX.id),
  agentId: AgentId,
  channelId: boundedString(MAX.name),
  executionId: boundedString(MAX.id),
  provider: boundedString(MAX.name),
  model: boundedString(MAX.name),
  tokens: z.object({ prompt: Count, completion: Count, total: Count }),
  cost: z.object({ input: Usd, output: Usd, cacheRead: Usd, cacheWrite: Usd, total: Usd }),
  latencyMs: DurationMs,
  cacheReadTokens: Count,
  cacheWriteTokens: Count,
  sessionKey: SessionKey,
  savedVsUncached: Usd.describe('negative if caching cost more than it saved'),
  cacheEligible: z.boolean(),
  responseId: boundedString(MAX.name).optional(),
  cacheCreation: z.object({ shortTtl: Count, longTtl: Count }).optional(),
});

const meterEvents = defineEvents({
  'observability:metrics': {
    summary: 'Health of a process: memory, event loop, handles.',
    everywhere: true,
    payload: z.object({
      rssBytes: Count,
      heapUsedBytes: Count,
      heapTotalBytes: Count,
      externalBytes: Count,
      eventLoopDelayMs: z.object({ min: z.number(), max: z.number(), mean: z.number(), p50: z.number(), p99: z.number() }),
      activeHandles: Count,
      uptimeSeconds: z.number().nonnegative(),
      timestamp,
    }),
    example: {
      rssBytes: 104857600,
      heapUsedBytes: 41943040,
      heapTotalBytes: 62914560,
      externalBytes: 3145728,
      eventLoopDelayMs: { min: 9.8, max: 24.1, mean: 10.2, p50: 10.1, p99: 12.4 },
      activeHandles: 14,
      uptimeSeconds: 3600.5,
      timestamp: 1763719200000,
    },
  },
  'observability:token_usage': {
    summary: 'Token usage and cost of a model call.',
    payload: TokenUsage,
    example: {
      timestamp: 1763719200000,
      traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
      agentId: 'default',
      channelId: 'gateway',
      executionId: 'turn_4fT0mUq2Zs8KxY1bNcVdGh',
      provider: 'openai',
      model: 'gpt-5',
      tokens: { prompt: 1200, completion: 340, total: 1540 },
      cost: { input: 0.0015, output: 0.0034, cacheRead: 0, cacheWrite: 0, total: 0.0049 },
      latencyMs: 2140,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      sessionKey: 'default:alice:gateway',
      savedVsUncached: 0,
      cacheEligible: true,
    },
  },
  'observability:reset': {
    summary: 'Observations were deleted on request.',
    payload: z.object({
      admin: boundedString(MAX.name).describe('requesting client'),
      table: z.enum(['all', ...OBSERVATION_TABLES]),
      rowsDeleted: RowsDeleted,
      timestamp,
    }),
    example: {
      admin: 'operator',
      table: 'all',
      rowsDeleted: { tokenUsage: 120, delivery: 44, diagnostics: 12, channels: 3 },
      timestamp: 1763719200000,
    },
  },
});

const diagnosticEvents = defineEvents({
  'diagnostic:channel_health': {
    summary: 'Activity of each channel, once per period.',
    payload: z.object({ channels: z.array(ChannelActivity).max(MAX.all), timestamp }),
    example: { channels: [channelActivityExample], timestamp: 1763719200000 },
  },
  'diagnostic:billing_snapshot': {
    summary: 'Cost of each provider, once per period.',
    payload: z.object({
      providers: z
        .array(z.object({ provider: boundedString(MAX.name), totalCost: Usd, totalTokens: Count, callCount: Count }))
        .max(MAX.many),
      totalCost: Usd,
      timestamp,
    }),
    example: {
      providers: [{ provider: 'openai', totalCost: 1.84, totalTokens: 512000, callCount: 240 }],
      totalCost: 1.84,
      timestamp: 1763719200000,
    },
  },
});

/** Events about the product itself. */
export const observabilityEvents = defineEvents({
  ...meterEvents,
  ...diagnosticEvents,
  'audit:event': {
    summary: 'An audited call was made or attempted.',
    payload: z.object({
      timestamp,
      agentId: boundedString(MAX.name).describe('acting agent or client'),
      tenantId: boundedString(MAX.id),
      actionType: boundedString(MAX.name),
      classification: z.enum(['read', 'mutate', 'destructive']),
      outcome: z.enum(['success', 'failure', 'denied']),
      metadata: JsonObject.optional(),
    }),
    example: {
      timestamp: 1763719200000,
      agentId: 'default',
      tenantId: 'default',
      actionType: 'tokens.revoke',
      classification: 'destructive',
      outcome: 'success',
      metadata: { id: 'laptop' },
    },
  },
  'system:error': {
    summary: 'A background task failed.',
    everywhere: true,
    payload: z.object({
      error: z.object({ message: boundedString(MAX.line), errorKind: boundedString(MAX.name) }),
      source: boundedString(MAX.name),
    }),
    example: { error: { message: 'database is locked', errorKind: 'dependency' }, source: 'sessions' },
  },
});
