import { ServiceError, type GraphDefinition, type GraphNode } from '@switchyard/contracts';

function invalidGraph(kind: string, text: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', `The graph is invalid: ${text}`, { details: { reason: kind } });
}

/** Returns the nodes with the edges as dependencies. Throws INVALID_ARGUMENT for duplicate, missing and self dependencies. */
export function resolveDependencies({ nodes, edges = [] }: Pick<GraphDefinition, 'nodes' | 'edges'>): GraphNode[] {
  const ids = nodes.map(({ node_id: nodeId }) => nodeId);
  const known = new Set(ids);
  const twice = ids.find((nodeId, index) => ids.indexOf(nodeId) !== index);
  if (twice !== undefined) throw invalidGraph('duplicate_node_id', `two nodes have the id ${twice}.`);
  for (const { from, to } of edges)
    for (const nodeId of [from, to])
      if (!known.has(nodeId))
        throw invalidGraph('missing_dependency', `the edge ${from} to ${to} names the node ${nodeId}, which does not exist.`);
  return nodes.map((node) => {
    const incoming = edges.filter(({ to }) => to === node.node_id).map(({ from }) => from);
    const dependsOn = [...new Set([...node.depends_on, ...incoming])];
    for (const nodeId of dependsOn) {
      if (nodeId === node.node_id) throw invalidGraph('self_dependency', `the node ${nodeId} depends on itself.`);
      if (!known.has(nodeId))
        throw invalidGraph('missing_dependency', `the node ${node.node_id} depends on ${nodeId}, which does not exist.`);
    }
    return { ...node, depends_on: dependsOn };
  });
}

/** Returns the node ids in an order in which every node follows its dependencies (Kahn). Throws INVALID_ARGUMENT for a cycle. */
export function getExecutionOrder(nodes: readonly Pick<GraphNode, 'node_id' | 'depends_on'>[]): string[] {
  const order: string[] = [];
  const done = new Set<string>();
  let rest = [...nodes];
  while (rest.length > 0) {
    const free = rest.filter(({ depends_on: dependsOn }) => dependsOn.every((nodeId) => done.has(nodeId)));
    if (free.length === 0) throw invalidGraph('cycle', `the nodes ${rest.map((node) => node.node_id).join(', ')} contain a cycle.`);
    for (const { node_id: nodeId } of free) {
      order.push(nodeId);
      done.add(nodeId);
    }
    rest = rest.filter(({ node_id: nodeId }) => !done.has(nodeId));
  }
  return order;
}
