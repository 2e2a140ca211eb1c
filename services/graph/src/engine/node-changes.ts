import type { NodeRun, RunState } from './run-state.ts';

export interface NodeChange {
  nodeId: string;
  previousStatus: NodeRun['status'];
  node: NodeRun;
}

/** Lists the nodes whose status changed, or that started another attempt. */
export function listNodeChanges(before: RunState, after: RunState): NodeChange[] {
  return Object.entries(after.nodes).flatMap(([nodeId, node]) => {
    const previous = before.nodes[nodeId];
    if (previous === undefined || (previous.status === node.status && previous.attempt === node.attempt)) return [];
    return [{ nodeId, previousStatus: previous.status, node }];
  });
}
