import { z } from 'zod';
import { defineEvents, type OperationSpecs } from '../definition/define.ts';
import { AgentId, Count, DurationMs, SessionKey, Timestamp } from '../values/common.ts';
import { MAX, boundedString } from '../values/sizes.ts';

/** Configuration of the context engine of an agent, and the summaries of its conversations in numbers. */
export const contextStatusOperations = {
  'context.status': {
    summary: 'Returns the context layers and budgets of an agent, and counts the summaries of its conversations or of all agents.',
    callers: ['observability'] as const,
    params: z.strictObject({ agentId: AgentId.optional().describe('default: layers of the default agent, summaries of all agents') }),
    result: z.object({
      layers: z.array(z.object({ name: boundedString(MAX.name), enabled: z.boolean() })).max(MAX.words),
      budgets: z
        .object({ windowTokens: Count, outputReserve: Count, safetyMargin: Count })
        .describe('in tokens; windowTokens is 0 for a model whose context window is unknown'),
      nodeCounts: z.object({ leaf: Count, condensed: Count }),
      maxDepth: Count,
    }),
    idempotent: true,
    reads: true,
  },
} satisfies OperationSpecs;

/** The growth of the tree of summaries of a conversation by one compaction. */
export const ContextCompaction = z.object({
  agentId: AgentId,
  sessionKey: SessionKey,
  leafSummariesCreated: Count,
  condensedSummariesCreated: Count,
  maxDepthReached: Count,
  totalSummariesCreated: Count,
  durationMs: DurationMs,
  timestamp: Timestamp,
});

export const contextEvents = defineEvents({
  'context:dag_compacted': {
    summary: 'A part of a conversation was replaced by a summary in later prompts. The messages stay stored.',
    beyond: true,
    payload: ContextCompaction,
    example: {
      agentId: 'default',
      sessionKey: 'default:alice:gateway',
      leafSummariesCreated: 1,
      condensedSummariesCreated: 0,
      maxDepthReached: 0,
      totalSummariesCreated: 1,
      durationMs: 4100,
      timestamp: 1763719200000,
    },
  },
});
