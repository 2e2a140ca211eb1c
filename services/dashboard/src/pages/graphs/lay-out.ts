import { graphlib, layout } from '@dagrejs/dagre';

const NODE_WIDTH = 180;
const NODE_HEIGHT = 44;

/** Up to so many nodes the lines cross as little as possible. The time for it grows faster than the graph: 200 nodes would take seconds. */
const MAX_ORDERED_NODES = 60;

interface LayoutNode {
  id: string;
  dependsOn: readonly string[];
}

/** A node with its upper left corner, in pixels. */
export interface PlacedNode {
  id: string;
  x: number;
  y: number;
}

export const NODE_SIZE = { width: NODE_WIDTH, height: NODE_HEIGHT };

/** Places nodes in layers, so that each one is below the nodes that it waits for. Dependencies on unknown nodes are ignored. */
export function layOutGraph(nodes: readonly LayoutNode[]): { placed: PlacedNode[]; edges: [source: string, target: string][] } {
  const graph = new graphlib.Graph();
  const isLarge = nodes.length > MAX_ORDERED_NODES;
  graph.setGraph({ rankdir: 'TB', nodesep: 24, ranksep: 48, ...(isLarge ? { ranker: 'longest-path' } : {}) });
  graph.setDefaultEdgeLabel(() => ({}));
  const ids = new Set(nodes.map(({ id }) => id));
  const edges = nodes.flatMap(({ id, dependsOn }) =>
    dependsOn.filter((source) => ids.has(source)).map((source): [string, string] => [source, id]),
  );
  for (const id of ids) graph.setNode(id, { ...NODE_SIZE });
  for (const [source, target] of edges) graph.setEdge(source, target);
  layout(graph, { disableOptimalOrderHeuristic: isLarge });
  const placed = nodes.map(({ id }) => {
    const { x, y } = graph.node(id) as { x: number; y: number };
    return { id, x: x - NODE_WIDTH / 2, y: y - NODE_HEIGHT / 2 };
  });
  return { placed, edges };
}
