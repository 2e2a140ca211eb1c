import { z } from 'zod';
import { AgentId, Count, DurationMs, SessionKey, Timestamp } from '../values/common.ts';
import { defineMethods } from '../definition/define.ts';
import { maxKeys } from '../values/max-keys.ts';
import { MAX, boundedString } from '../values/sizes.ts';
import { ContextCompaction } from '../sessions/context-status.ts';

const PipelineSnapshot = z.object({
  agentId: AgentId,
  sessionKey: SessionKey,
  tokensLoaded: Count,
  tokensEvicted: Count,
  tokensMasked: Count,
  tokensCompacted: Count,
  thinkingBlocksRemoved: Count,
  budgetUtilization: z.number().nonnegative(),
  evictionCategories: z.record(boundedString(MAX.name), Count).check(maxKeys(MAX.many)),
  cacheHitTokens: Count,
  cacheWriteTokens: Count,
  cacheMissTokens: Count,
  durationMs: DurationMs,
  layerCount: Count,
  layers: z.array(z.object({ name: boundedString(MAX.name), durationMs: DurationMs, messagesIn: Count, messagesOut: Count })).max(MAX.many),
  timestamp: Timestamp,
});

/** The layers between a conversation and its model, and what they last did. */
export const ContextPipeline = z.object({
  agentId: AgentId.optional(),
  layers: z.array(z.object({ name: boundedString(MAX.name), enabled: z.boolean() })).max(MAX.many),
  budgets: z.object({ windowTokens: Count, outputReserve: Count, safetyMargin: Count }),
  snapshots: z.array(PipelineSnapshot).max(MAX.all).describe('newest first'),
});

/** The trees of summaries, counted, and how they last grew. */
export const ContextDag = z.object({
  agentId: AgentId.optional(),
  nodeCounts: z.object({ leaf: Count, condensed: Count }),
  maxDepth: Count,
  compactions: z.array(ContextCompaction).max(MAX.all),
});

const snapshot = {
  agentId: 'default',
  sessionKey: 'default:alice:gateway',
  tokensLoaded: 18200,
  tokensEvicted: 1200,
  tokensMasked: 0,
  tokensCompacted: 0,
  thinkingBlocksRemoved: 0,
  budgetUtilization: 0.14,
  evictionCategories: { superseded_file_read: 2 },
  cacheHitTokens: 12000,
  cacheWriteTokens: 900,
  cacheMissTokens: 5300,
  durationMs: 3,
  layerCount: 1,
  layers: [{ name: 'history-window', durationMs: 1, messagesIn: 40, messagesOut: 30 }],
  timestamp: 1763719200000,
};

export const obsContextMethods = defineMethods({
  'obs.context.pipeline': {
    summary: 'Returns how conversations were fitted into context windows, for one agent or all.',
    scope: 'admin',
    params: z.strictObject({ agentId: AgentId.optional() }),
    result: ContextPipeline,
    blobs: ['layers', 'snapshots'],
    idempotent: true,
    examples: [
      {
        params: { agentId: 'default' },
        result: {
          agentId: 'default',
          layers: [{ name: 'history-window', enabled: true }],
          budgets: { windowTokens: 128000, outputReserve: 16384, safetyMargin: 2048 },
          snapshots: [snapshot],
        },
      },
    ],
  },
  'obs.context.dag': {
    summary: 'Returns counts of summaries and their triggers.',
    scope: 'admin',
    params: z.strictObject({ agentId: AgentId.optional() }),
    result: ContextDag,
    blobs: ['compactions'],
    idempotent: true,
    examples: [
      {
        params: {},
        result: {
          nodeCounts: { leaf: 14, condensed: 2 },
          maxDepth: 1,
          compactions: [
            {
              agentId: 'default',
              sessionKey: 'default:alice:gateway',
              leafSummariesCreated: 2,
              condensedSummariesCreated: 0,
              maxDepthReached: 0,
              totalSummariesCreated: 2,
              durationMs: 4100,
              timestamp: 1763719200000,
            },
          ],
        },
      },
    ],
  },
});
