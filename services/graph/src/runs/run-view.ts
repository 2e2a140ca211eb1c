import { MAX, type Result } from '@switchyard/contracts';
import { getExecutionOrder } from '../definition/execution-order.ts';
import type { GraphDocument, RunDocument } from '../documents/collections.ts';
import { newRunState, type NodeRun } from '../engine/run-state.ts';

type Progress = Extract<Result<'graph.status'>, { nodes: unknown }>;

/** Returns the times and the error of a node for a result. */
export function describeNode({ status, error, startedAt, completedAt }: NodeRun) {
  return {
    status,
    ...(error === undefined ? {} : { error: error.slice(0, MAX.line) }),
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(completedAt === undefined ? {} : { completedAt }),
    ...(startedAt === undefined || completedAt === undefined ? {} : { durationMs: completedAt - startedAt }),
  };
}

/** Returns the progress of a run for `graph.status`. */
export function describeRun(document: RunDocument, outputs: Readonly<Record<string, string | null>>): Progress {
  const { graphId, runId, definition, run } = document;
  const nodes = definition.nodes.map(({ node_id: nodeId, depends_on: dependsOn }): [string, Progress['nodes'][string]] => {
    const node = run.nodes[nodeId]!;
    return [nodeId, { ...describeNode(node), output: outputs[nodeId] ?? null, dependsOn: [...dependsOn] }];
  });
  return {
    graphId,
    runId,
    ...(definition.label === undefined ? {} : { label: definition.label }),
    status: run.status,
    isTerminal: run.status !== 'running',
    executionOrder: getExecutionOrder(definition.nodes),
    nodes: Object.fromEntries(nodes),
    stats: countNodes(Object.values(run.nodes)),
    ...describeTimes(document),
  };
}

/** Returns the progress of a graph that was never executed. */
export function describeUnstarted({ graphId, definition }: GraphDocument): Progress {
  const { nodes } = newRunState(definition, 0);
  const described = definition.nodes.map(({ node_id: nodeId, depends_on: dependsOn }): [string, Progress['nodes'][string]] => {
    const { status } = nodes[nodeId]!;
    return [nodeId, { status, output: null, dependsOn: [...dependsOn] }];
  });
  return {
    graphId,
    ...(definition.label === undefined ? {} : { label: definition.label }),
    status: 'pending',
    isTerminal: false,
    executionOrder: getExecutionOrder(definition.nodes),
    nodes: Object.fromEntries(described),
    stats: countNodes(Object.values(nodes)),
  };
}

export function describeTimes({ run: { startedAt, completedAt } }: RunDocument) {
  return { startedAt, ...(completedAt === undefined ? {} : { completedAt, durationMs: completedAt - startedAt }) };
}

function countNodes(nodes: readonly NodeRun[]): Progress['stats'] {
  const count = (...statuses: NodeRun['status'][]): number => nodes.filter(({ status }) => statuses.includes(status)).length;
  return {
    total: nodes.length,
    completed: count('completed'),
    failed: count('failed'),
    skipped: count('skipped'),
    running: count('running'),
    pending: count('pending', 'ready'),
  };
}
