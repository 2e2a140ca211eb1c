import type { Bus } from '@switchyard/bus';
import { MAX, servicePrincipal, type EventPayload } from '@switchyard/contracts';
import type { RunDocument } from '../documents/collections.ts';
import type { NodeChange } from '../engine/node-changes.ts';
import type { RunState } from '../engine/run-state.ts';

export function startedEvent({ graphId, runId, definition, startedAt }: RunDocument): { name: string; payload: unknown } {
  const { label, nodes } = definition;
  const payload: EventPayload<'graph:started'> = {
    graphId,
    runId,
    ...(label === undefined ? {} : { label }),
    nodeCount: nodes.length,
    timestamp: startedAt,
  };
  return { name: 'graph:started', payload };
}

export function completedEvent({ graphId, runId }: RunDocument, state: RunState): { name: string; payload: unknown } {
  const nodes = Object.values(state.nodes);
  const count = (status: string): number => nodes.filter((node) => node.status === status).length;
  const { startedAt, completedAt = startedAt, cancelReason, spent } = state;
  const payload: EventPayload<'graph:completed'> = {
    graphId,
    runId,
    status: state.status,
    durationMs: completedAt - startedAt,
    nodeCount: nodes.length,
    nodesCompleted: count('completed'),
    nodesFailed: count('failed'),
    nodesSkipped: count('skipped'),
    ...(cancelReason === undefined ? {} : { cancelReason }),
    totalCacheReadTokens: spent.cacheRead,
    totalCacheWriteTokens: spent.cacheWrite,
    timestamp: completedAt,
  };
  return { name: 'graph:completed', payload };
}

interface PublishNodeChangesDeps {
  bus: Bus;
  now: () => number;
}

/** Publishes the progress of a run. Progress may be lost; the document of the run is the truth. */
export function publishNodeChanges(
  { bus, now }: PublishNodeChangesDeps,
  tenant: string,
  { graphId, runId }: RunDocument,
  changes: readonly NodeChange[],
): void {
  const publisher = bus.as(servicePrincipal('graph', tenant));
  for (const { nodeId, previousStatus, node } of changes) {
    const { status, error, startedAt, completedAt } = node;
    publisher.emit('graph:node_updated', {
      graphId,
      runId,
      nodeId,
      status,
      previousStatus,
      ...(startedAt === undefined || completedAt === undefined ? {} : { durationMs: completedAt - startedAt }),
      ...(error === undefined || status === 'completed' ? {} : { error: error.slice(0, MAX.line) }),
      timestamp: now(),
    });
  }
}
