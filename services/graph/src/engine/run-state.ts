import { GraphStatus, NodeStatus, type GraphDefinition } from '@switchyard/contracts';
import { z } from 'zod';

const instant = z.int().nonnegative();
const count = z.int().nonnegative();

/** The state of one node in a run. */
export const NodeRun = z.object({
  status: NodeStatus,
  /** Counts all attempts, also those before a resumption. It is part of the keys of the steps. */
  attempt: count,
  /** Failed attempts since the run was started or resumed. */
  failures: count,
  /** Steps of the current attempt that were started. */
  steps: count,
  /** End of the back-off of a node that is ready. */
  readyAt: instant.optional(),
  startedAt: instant.optional(),
  completedAt: instant.optional(),
  error: z.string().optional(),
  /** The output is that of an attempt that failed or timed out. */
  partial: z.literal(true).optional(),
});
export type NodeRun = z.infer<typeof NodeRun>;

/** Use of models by ended steps. */
export const Spent = z.object({ tokens: count, costUsd: z.number(), cacheRead: count, cacheWrite: count });
export type Spent = z.infer<typeof Spent>;

/** The state of a run that decides what happens next. */
export const RunState = z.object({
  status: GraphStatus,
  cancelReason: z.enum(['timeout', 'budget', 'manual']).optional(),
  nodes: z.record(z.string(), NodeRun),
  /** Of attempts that have ended. */
  spent: Spent,
  startedAt: instant,
  completedAt: instant.optional(),
  /** Time that approval gates waited, which does not count towards the timeout. */
  waitedMs: count,
  /** Since when an approval gate has been waiting. */
  waitingSince: instant.optional(),
});
export type RunState = z.infer<typeof RunState>;

export function noSpent(): Spent {
  return { tokens: 0, costUsd: 0, cacheRead: 0, cacheWrite: 0 };
}

export function addSpent(one: Spent, other: Spent): Spent {
  return {
    tokens: one.tokens + other.tokens,
    costUsd: one.costUsd + other.costUsd,
    cacheRead: one.cacheRead + other.cacheRead,
    cacheWrite: one.cacheWrite + other.cacheWrite,
  };
}

/** Returns the state of a run in which no node has started. */
export function newRunState({ nodes }: GraphDefinition, startedAt: number): RunState {
  const pending = (): NodeRun => ({ status: 'pending', attempt: 0, failures: 0, steps: 0 });
  return {
    status: 'running',
    nodes: Object.fromEntries(nodes.map(({ node_id: nodeId }) => [nodeId, pending()])),
    spent: noSpent(),
    startedAt,
    waitedMs: 0,
  };
}

/** Returns the state in which completed nodes keep their outputs and all others start again. */
export function resumeRunState(state: RunState, startedAt: number): RunState {
  const nodes = Object.entries(state.nodes).map(([nodeId, node]): [string, NodeRun] => {
    if (node.status === 'completed') return [nodeId, node];
    return [nodeId, { status: 'pending', attempt: node.attempt, failures: 0, steps: 0 }];
  });
  return { status: 'running', nodes: Object.fromEntries(nodes), spent: state.spent, startedAt, waitedMs: 0 };
}

export function isTerminal({ status }: Pick<NodeRun, 'status'>): boolean {
  return status === 'completed' || status === 'failed' || status === 'skipped';
}
