import type { GraphDefinition } from '@switchyard/contracts';

export type Status = 'completed' | 'failed' | 'skipped';

/**
 * Computes how each node of a graph ends, from the definition alone: recursively and without a clock, unlike the state machine.
 * `succeeds` says how the last attempt of a node that runs ends.
 */
export function interpret({ nodes, onFailure }: GraphDefinition, succeeds: (nodeId: string) => boolean): Record<string, Status> {
  const results = new Map<string, Status>();
  function resolve(nodeId: string): Status {
    const known = results.get(nodeId);
    if (known) return known;
    const { depends_on: dependsOn, barrier_mode: barrier } = nodes.find((node) => node.node_id === nodeId)!;
    const ends = dependsOn.map(resolve);
    const share = ends.length === 0 ? 1 : ends.filter((end) => end === 'completed').length / ends.length;
    const isMet = { all: share === 1, majority: share > 0.5, 'best-effort': share > 0 }[barrier];
    const runs = onFailure === 'fail-fast' ? share === 1 : isMet;
    const status = runs ? (succeeds(nodeId) ? 'completed' : 'failed') : 'skipped';
    results.set(nodeId, status);
    return status;
  }
  return Object.fromEntries(nodes.map(({ node_id: nodeId }) => [nodeId, resolve(nodeId)]));
}
