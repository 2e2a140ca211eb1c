import { ReactFlow, Controls, Position, type Edge, type Node } from '@xyflow/react';
import '@xyflow/react/dist/style.css';
import { useMemo } from 'react';
import { useSearchText } from '../../parts/use-search.ts';
import type { Progress } from './progress.ts';
import { layOutGraph, NODE_SIZE } from './lay-out.ts';

const MARKS: Readonly<Record<string, string>> = { completed: '●', failed: '▲', running: '◐', skipped: '–', pending: '○', ready: '○' };

/** The graph as a picture. Keyboards and screen readers use the list beside it. */
export function Picture({ graph: { nodes } }: { graph: Progress }) {
  const [selected, select] = useSearchText('node');
  // The layout depends on the shape alone, so that the progress of a run moves no node.
  const shape = JSON.stringify(Object.entries(nodes).map(([id, { dependsOn = [] }]) => ({ id, dependsOn })));
  const { placed, edges } = useMemo(() => layOutGraph(JSON.parse(shape) as { id: string; dependsOn: string[] }[]), [shape]);
  const boxes = placed.map(({ id, x, y }): Node => {
    const status = nodes[id]?.status ?? 'pending';
    return {
      id,
      position: { x, y },
      ...NODE_SIZE,
      data: { label: `${MARKS[status] ?? ''} ${id}` },
      className: `node-${status}${id === selected ? ' node-selected' : ''}`,
      sourcePosition: Position.Bottom,
      targetPosition: Position.Top,
    };
  });
  const lines = edges.map(([source, target]): Edge => ({
    id: `${source} ${target}`,
    source,
    target,
    animated: nodes[source]?.status === 'completed' && nodes[target]?.status === 'running',
  }));
  return (
    <div className="graph-picture" role="group" aria-label="Picture of the graph">
      <ReactFlow
        nodes={boxes}
        edges={lines}
        fitView
        minZoom={0.05}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        colorMode="system"
        onlyRenderVisibleElements
        onNodeClick={(_event, node) => select(node.id)}
      >
        <Controls showInteractive={false} />
      </ReactFlow>
    </div>
  );
}
