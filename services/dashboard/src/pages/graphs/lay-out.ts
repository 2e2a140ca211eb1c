import { graphlib, layout } from '@dagrejs/dagre';
import { layOutLayers } from './lay-out-layers.ts';

const NODE_WIDTH = 180;
const NODE_HEIGHT = 44;
const COLUMN_GAP = 24;
const LAYER_GAP = 48;

/** Up to so many nodes the lines cross as little as possible. The time for it grows faster than the graph: it would be a fifth of the time in which 200 nodes appear. */
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
  const ids = new Set(nodes.map(({ id }) => id));
  const known = nodes.map(({ id, dependsOn }) => ({ id, sources: dependsOn.filter((source) => ids.has(source)) }));
  const edges = known.flatMap(({ id, sources }) => sources.map((source): [string, string] => [source, id]));
  return { placed: nodes.length > MAX_ORDERED_NODES ? placeInLayers(known) : placeInOrder(known, edges), edges };
}

function placeInLayers(nodes: readonly { id: string; sources: readonly string[] }[]): PlacedNode[] {
  const places = layOutLayers(nodes, { columnWidth: NODE_WIDTH + COLUMN_GAP, layerHeight: NODE_HEIGHT + LAYER_GAP });
  return nodes.map(({ id }) => ({ id, ...(places.get(id) ?? { x: 0, y: 0 }) }));
}

function placeInOrder(nodes: readonly { id: string }[], edges: readonly (readonly [string, string])[]): PlacedNode[] {
  const graph = new graphlib.Graph();
  graph.setGraph({ rankdir: 'TB', nodesep: COLUMN_GAP, ranksep: LAYER_GAP });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id } of nodes) graph.setNode(id, { ...NODE_SIZE });
  for (const [source, target] of edges) graph.setEdge(source, target);
  layout(graph);
  return nodes.map(({ id }) => {
    const { x, y } = graph.node(id) as { x: number; y: number };
    return { id, x: x - NODE_WIDTH / 2, y: y - NODE_HEIGHT / 2 };
  });
}
