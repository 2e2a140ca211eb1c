import type { GraphDefinition, GraphNode } from '@switchyard/contracts';
import { isTerminal, type NodeRun } from './run-state.ts';

export type Readiness = 'ready' | 'waiting' | 'unreachable';

/**
 * Returns whether a pending node may start. With fail-fast a node is unreachable as soon as a dependency failed or was skipped, whatever
 * its barrier; with continue only when its barrier can no longer be met.
 */
export function getReadiness(
  { depends_on: dependsOn, barrier_mode: barrier }: Pick<GraphNode, 'depends_on' | 'barrier_mode'>,
  nodes: Readonly<Record<string, Pick<NodeRun, 'status'>>>,
  onFailure: GraphDefinition['onFailure'],
): Readiness {
  const dependencies = dependsOn.map((nodeId) => nodes[nodeId] ?? { status: 'skipped' as const });
  const completed = dependencies.filter(({ status }) => status === 'completed').length;
  const open = dependencies.filter((node) => !isTerminal(node)).length;
  const lost = dependencies.length - completed - open;
  if (dependencies.length === 0) return 'ready';
  if (lost > 0 && (onFailure === 'fail-fast' || barrier === 'all')) return 'unreachable';
  const required = { all: dependencies.length, majority: Math.floor(dependencies.length / 2) + 1, 'best-effort': 1 }[barrier];
  if (completed + open < required) return 'unreachable';
  return open === 0 ? 'ready' : 'waiting';
}
