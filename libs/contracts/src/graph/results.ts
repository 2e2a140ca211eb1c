import { z } from 'zod';
import { Count, DurationMs, Timestamp } from '../values/common.ts';
import { GraphStatus, NodeStatus } from './events.ts';
import { maxKeys } from '../values/max-keys.ts';
import { MAX, boundedString } from '../values/sizes.ts';

const graphId = boundedString(MAX.id);
const runId = boundedString(MAX.id);
const name = boundedString(MAX.name);
const Output = boundedString(MAX.payload).nullable().describe('null until the node has completed');
const Outputs = z.record(boundedString(MAX.name), Output).check(maxKeys(MAX.many)).describe('by node id');

/** A valid but probably unintended property of a graph. */
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
  nodeId: boundedString(MAX.id).optional(),
  message: boundedString(MAX.line),
  fix: boundedString(MAX.line).optional(),
});
export type GraphWarning = z.infer<typeof GraphWarning>;

export const GraphDefined = z.object({
  graphId,
  nodeCount: Count,
  executionOrder: z.array(boundedString(MAX.name)).max(MAX.many),
  warnings: z.array(GraphWarning).max(MAX.many),
  label: boundedString(MAX.line).optional(),
  userVariables: z.array(boundedString(MAX.line)).max(MAX.many).optional().describe('the ${NAME} variables that its tasks use'),
});

export const GraphExecution = z.object({
  graphId,
  runId,
  status: GraphStatus.describe('running if the wait ended before the run'),
  outputs: Outputs,
  warnings: z.array(GraphWarning).max(MAX.many),
});

export const NodeState = z.object({
  status: NodeStatus,
  runId: boundedString(MAX.id).optional().describe('id of the sub-agent run'),
  output: Output.describe('truncated to 500 characters'),
  error: boundedString(MAX.line).optional(),
  startedAt: Timestamp.optional(),
  completedAt: Timestamp.optional(),
  durationMs: DurationMs.optional(),
  dependsOn: z.array(boundedString(MAX.name)).max(MAX.many).optional().describe('ids of the nodes that it waits for'),
});

const Progress = z.enum(['pending', ...GraphStatus.options]).describe('pending until it is first executed');

/** How far one graph is: its latest run. */
export const GraphProgress = z.object({
  graphId,
  runId: runId.optional(),
  label: boundedString(MAX.line).optional(),
  status: Progress,
  isTerminal: z.boolean(),
  executionOrder: z.array(boundedString(MAX.name)).max(MAX.many),
  nodes: z.record(boundedString(MAX.name), NodeState).check(maxKeys(MAX.many)).describe('by node id'),
  stats: z.object({ total: Count, completed: Count, failed: Count, skipped: Count, running: Count, pending: Count }),
  startedAt: Timestamp.optional(),
  completedAt: Timestamp.optional(),
  durationMs: DurationMs.optional(),
});

/** Recent graphs, and the load of all replicas. */
export const GraphOverview = z.object({
  graphs: z
    .array(
      z.object({
        graphId,
        label: boundedString(MAX.line).optional(),
        status: Progress,
        startedAt: Timestamp.optional(),
        completedAt: Timestamp.optional(),
      }),
    )
    .max(MAX.all),
  concurrency: z.object({ globalActiveSubAgents: Count, maxGlobalSubAgents: Count, queueDepth: Count }),
});

export const GraphStatusResult = z.union([GraphProgress, GraphOverview]);

export const GraphOutputs = z.object({
  graphId,
  outputs: Outputs.describe('by node id, each truncated to 12,000 characters'),
  source: z.enum(['memory', 'disk']),
});

export const GraphCancelled = z.object({ graphId, cancelled: z.literal(true) });
export const GraphSaved = z.object({ name, saved: z.literal(true) });
export const GraphLoaded = z.object({ graphId: graphId.describe('new for each run'), name });
export const GraphList = z.object({ graphs: z.array(z.object({ name, createdAt: Timestamp, nodeCount: Count })).max(MAX.all) });
export const GraphDiagram = z.object({ graphId, runId: runId.optional(), mermaid: boundedString(MAX.text) });
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
  nodes: z
    .array(
      z.object({
        nodeId: boundedString(MAX.id),
        status: NodeStatus,
        output: Output,
        error: boundedString(MAX.line).optional(),
        startedAt: Timestamp.optional(),
        durationMs: DurationMs.optional(),
        artifacts: z
          .array(
            z.object({
              filename: boundedString(MAX.path),
              content: boundedString(MAX.text),
              missing: z.literal(true).optional().describe('the file no longer exists; content is what is left of it'),
            }),
          )
          .max(MAX.all)
          .optional(),
      }),
    )
    .max(MAX.all),
});

export const GraphRunList = z.object({
  runs: z
    .array(z.object({ ...run, nodeCount: Count, fileCount: Count }))
    .max(MAX.all)
    .describe('newest first'),
});
