import { z } from 'zod';
import { Count, DurationMs, Timestamp } from '../common.ts';
import { GraphStatus, NodeStatus } from './events.ts';

const graphId = z.string();
const runId = z.string();
const name = z.string();
const Output = z.string().nullable().describe('null until the node has completed');
const Outputs = z.record(z.string(), Output).describe('by node id');

/** Something about a graph that is allowed and probably not meant. */
export const GraphWarning = z.object({
  type: z.enum([
    'typed_node_agentid_ignored',
    'typed_node_expensive_retry',
    'typed_node_approval_retry',
    'unresolved_template',
    'orphan_node',
    'barrier_mode_low_deps',
    'no_agent_id',
    'information_bottleneck',
    'unresolved_variable',
  ]),
  nodeId: z.string().optional(),
  message: z.string(),
  fix: z.string().optional(),
});
export type GraphWarning = z.infer<typeof GraphWarning>;

export const GraphDefined = z.object({
  graphId,
  nodeCount: Count,
  executionOrder: z.array(z.string()),
  warnings: z.array(GraphWarning),
  label: z.string().optional(),
  userVariables: z.array(z.string()).optional().describe('the ${NAME} variables its tasks ask for'),
});

export const GraphExecution = z.object({
  graphId,
  runId,
  status: GraphStatus.describe('running when the wait ended before the run did'),
  outputs: Outputs,
  warnings: z.array(GraphWarning),
});

export const NodeState = z.object({
  status: NodeStatus,
  runId: z.string().optional().describe('of the sub-agent that does it'),
  output: Output.describe('cut at 500 characters'),
  error: z.string().optional(),
  startedAt: Timestamp.optional(),
  completedAt: Timestamp.optional(),
  durationMs: DurationMs.optional(),
});

const Progress = z.enum(['pending', ...GraphStatus.options]).describe('pending until it is first executed');

/** How far one graph is: its latest run. */
export const GraphProgress = z.object({
  graphId,
  runId: runId.optional(),
  label: z.string().optional(),
  status: Progress,
  isTerminal: z.boolean(),
  executionOrder: z.array(z.string()),
  nodes: z.record(z.string(), NodeState).describe('by node id'),
  stats: z.object({ total: Count, completed: Count, failed: Count, skipped: Count, running: Count, pending: Count }),
  startedAt: Timestamp.optional(),
  completedAt: Timestamp.optional(),
  durationMs: DurationMs.optional(),
});

/** The graphs of late, and how busy the house is with all of them. */
export const GraphOverview = z.object({
  graphs: z.array(
    z.object({
      graphId,
      label: z.string().optional(),
      status: Progress,
      startedAt: Timestamp.optional(),
      completedAt: Timestamp.optional(),
    }),
  ),
  concurrency: z.object({ globalActiveSubAgents: Count, maxGlobalSubAgents: Count, queueDepth: Count }),
});

export const GraphStatusResult = z.union([GraphProgress, GraphOverview]);

export const GraphOutputs = z.object({
  graphId,
  outputs: Outputs.describe('by node id, each cut at 12,000 characters'),
  source: z.enum(['memory', 'disk']),
});

export const GraphCancelled = z.object({ graphId, cancelled: z.literal(true) });
export const GraphSaved = z.object({ name, saved: z.literal(true) });
export const GraphLoaded = z.object({ graphId: graphId.describe('a fresh one each time'), name });
export const GraphList = z.object({ graphs: z.array(z.object({ name, createdAt: Timestamp, nodeCount: Count })) });
export const GraphDeleted = z.object({ name, deleted: z.literal(true) });
export const GraphRunDeleted = z.object({ runId, deleted: z.literal(true) });

const run = {
  runId,
  graphId,
  name: name.optional(),
  status: GraphStatus,
  startedAt: Timestamp,
  durationMs: DurationMs.optional(),
};

export const GraphRunDetail = z.object({
  ...run,
  completedAt: Timestamp.optional(),
  nodes: z.array(
    z.object({
      nodeId: z.string(),
      status: NodeStatus,
      output: Output,
      error: z.string().optional(),
      startedAt: Timestamp.optional(),
      durationMs: DurationMs.optional(),
      artifacts: z.array(z.object({ filename: z.string(), content: z.string() })).optional(),
    }),
  ),
});

export const GraphRunList = z.object({ runs: z.array(z.object({ ...run, nodeCount: Count, fileCount: Count })).describe('newest first') });
