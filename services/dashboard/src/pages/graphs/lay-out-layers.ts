interface LayerNode {
  id: string;
  /** Ids of known nodes. */
  sources: readonly string[];
}

/** Distances between the upper left corners of neighbours, in pixels. */
export interface LayerSpacing {
  columnWidth: number;
  layerHeight: number;
}

/**
 * Places nodes in layers by the longest path to them, and sorts each layer by the mean column of the nodes that it waits for. One pass
 * takes time linear in the edges. Lines cross more often than in a layout that searches for the best order. Nodes of a cycle are placed first.
 */
export function layOutLayers(
  nodes: readonly LayerNode[],
  { columnWidth, layerHeight }: LayerSpacing,
): Map<string, { x: number; y: number }> {
  const centers = new Map<string, number>();
  const places = new Map<string, { x: number; y: number }>();
  for (const [depth, layer] of groupByDepth(nodes).entries()) {
    const wanted = new Map(layer.map(({ id, sources }) => [id, meanCenter(sources, centers)]));
    const sorted = layer.toSorted((a, b) => (wanted.get(a.id) ?? 0) - (wanted.get(b.id) ?? 0));
    for (const [column, { id }] of sorted.entries()) {
      const center = column - (sorted.length - 1) / 2;
      centers.set(id, center);
      places.set(id, { x: center * columnWidth, y: depth * layerHeight });
    }
  }
  return places;
}

function meanCenter(sources: readonly string[], centers: ReadonlyMap<string, number>): number {
  return sources.reduce((sum, source) => sum + (centers.get(source) ?? 0), 0) / Math.max(1, sources.length);
}

/** Returns the layers, first those nodes that wait for none. */
function groupByDepth(nodes: readonly LayerNode[]): LayerNode[][] {
  const waiting = new Map(nodes.map(({ id, sources }) => [id, sources.length]));
  const targets = Map.groupBy(
    nodes.flatMap((node) => node.sources.map((source) => ({ source, node }))),
    ({ source }) => source,
  );
  const depths = new Map<string, number>();
  const ready = nodes.filter(({ sources }) => sources.length === 0);
  for (const { id } of ready) {
    // The list grows while it is read.
    const next = (depths.get(id) ?? 0) + 1;
    for (const { node } of targets.get(id) ?? []) {
      depths.set(node.id, Math.max(depths.get(node.id) ?? 0, next));
      const left = (waiting.get(node.id) ?? 0) - 1;
      waiting.set(node.id, left);
      if (left === 0) ready.push(node);
    }
  }
  const layers: LayerNode[][] = [];
  for (const node of nodes) (layers[(waiting.get(node.id) ?? 0) > 0 ? 0 : (depths.get(node.id) ?? 0)] ??= []).push(node);
  return Array.from(layers, (layer) => layer ?? []);
}
