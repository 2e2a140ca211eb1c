import { z } from 'zod';
import { Count, DurationMs, Timestamp } from '../values/common.ts';
import { defineEvents } from '../definition/define.ts';
import { MAX, boundedString } from '../values/sizes.ts';

export const NodeStatus = z.enum(['pending', 'ready', 'running', 'completed', 'failed', 'skipped']);
export const GraphStatus = z.enum(['running', 'completed', 'failed', 'cancelled']);

/** Progress of graphs. */
export const graphEvents = defineEvents({
  'graph:started': {
    summary: 'A graph started.',
    payload: z.object({
      graphId: boundedString(MAX.id),
      runId: boundedString(MAX.id).optional(),
      label: boundedString(MAX.line).optional(),
      nodeCount: Count,
      timestamp: Timestamp,
    }),
    example: { graphId: 'graph_4fT0mUq2Zs8KxY1bNcVdGh', label: 'market survey', nodeCount: 3, timestamp: 1763719200000 },
  },
  'graph:node_updated': {
    summary: 'A node of a running graph changed state.',
    progress: true,
    payload: z.object({
      graphId: boundedString(MAX.id),
      runId: boundedString(MAX.id).optional(),
      nodeId: boundedString(MAX.id),
      status: NodeStatus,
      previousStatus: NodeStatus.optional(),
      durationMs: DurationMs.optional(),
      error: boundedString(MAX.line).optional(),
      timestamp: Timestamp,
    }),
    example: {
      graphId: 'graph_4fT0mUq2Zs8KxY1bNcVdGh',
      nodeId: 'research',
      status: 'completed',
      previousStatus: 'running',
      durationMs: 8200,
      timestamp: 1763719208200,
    },
  },
  'graph:completed': {
    summary: 'A graph ended, successfully or not.',
    payload: z.object({
      graphId: boundedString(MAX.id),
      runId: boundedString(MAX.id).optional(),
      status: GraphStatus,
      durationMs: DurationMs,
      nodeCount: Count,
      nodesCompleted: Count,
      nodesFailed: Count,
      nodesSkipped: Count,
      cancelReason: z.enum(['timeout', 'budget', 'manual']).optional(),
      totalCacheReadTokens: Count.optional(),
      totalCacheWriteTokens: Count.optional(),
      timestamp: Timestamp,
    }),
    example: {
      graphId: 'graph_4fT0mUq2Zs8KxY1bNcVdGh',
      status: 'completed',
      durationMs: 21400,
      nodeCount: 3,
      nodesCompleted: 3,
      nodesFailed: 0,
      nodesSkipped: 0,
      timestamp: 1763719221400,
    },
  },
});
