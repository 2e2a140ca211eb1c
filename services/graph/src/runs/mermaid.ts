import type { StoredDefinition } from '../documents/collections.ts';
import type { NodeRun, RunState } from '../engine/run-state.ts';

/** Returns a Mermaid flowchart with the state and the duration of each node. Node ids contain no character that Mermaid interprets. */
export function formatMermaid({ nodes }: Pick<StoredDefinition, 'nodes'>, run?: RunState): string {
  const names = new Map(nodes.map(({ node_id: nodeId }, index) => [nodeId, `n${index}`]));
  const boxes = nodes.map(({ node_id: nodeId, type_id: type }) => {
    const title = type === undefined ? nodeId : `${nodeId} (${type})`;
    const state = run?.nodes[nodeId];
    return `  ${names.get(nodeId)}["${title}${state === undefined ? '' : `<br/>${describe(state)}`}"]`;
  });
  const edges = nodes.flatMap(({ node_id: nodeId, depends_on: dependsOn }) =>
    dependsOn.map((source) => `  ${names.get(source)} --> ${names.get(nodeId)}`),
  );
  return `${['flowchart TD', ...boxes, ...edges].join('\n')}\n`;
}

function describe({ status, startedAt, completedAt }: NodeRun): string {
  if (startedAt === undefined || completedAt === undefined) return status;
  return `${status}, ${((completedAt - startedAt) / 1_000).toFixed(1)} s`;
}
