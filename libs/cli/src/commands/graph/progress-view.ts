import type { CallResult } from '@switchyard/client';
import { oneLine, printable } from '../../output/output.ts';

export type Progress = Extract<CallResult<'graph.status'>, { nodes: unknown }>;
type NodeProgress = Progress['nodes'][string];

const MARKS: Readonly<Record<NodeProgress['status'], string>> = {
  pending: '·',
  ready: '·',
  running: '>',
  completed: '✓',
  failed: '✗',
  skipped: '-',
};

/** Returns one line for the run and one for each node, in the order of execution. */
export function formatTree({ graphId, label, status, executionOrder, nodes, stats }: Progress): string[] {
  const head = `${label ?? graphId}: ${status}, ${stats.completed} of ${stats.total} nodes completed`;
  return [oneLine(head), ...executionOrder.map((nodeId) => `  ${formatNode(nodeId, nodes[nodeId])}`)];
}

function formatNode(nodeId: string, node: NodeProgress | undefined): string {
  if (node === undefined) return nodeId;
  const { status, durationMs, error } = node;
  const seconds = durationMs === undefined ? '' : `, ${(durationMs / 1_000).toFixed(1)} s`;
  const reason = error === undefined || status === 'completed' ? '' : `: ${error}`;
  return oneLine(`${MARKS[status]} ${nodeId}: ${status}${seconds}${reason}`);
}

/** Draws the tree of a run again in place on a terminal. Elsewhere it writes each line once, when it changes. */
export function createProgressView(screen: NodeJS.WriteStream): { show(progress: Progress): void } {
  let shown: string[] = [];
  return {
    show(progress) {
      const lines = formatTree(progress);
      if (screen.isTTY) {
        const up = shown.length === 0 ? '' : `\u001B[${shown.length}A\u001B[J`;
        screen.write(`${up}${lines.map((line) => `${printable(line, screen)}\n`).join('')}`);
      } else {
        const changed = lines.filter((line, index) => shown[index] !== line && !(index > 0 && line.startsWith('  ·')));
        screen.write(changed.map((line) => `${printable(line, screen)}\n`).join(''));
      }
      shown = lines;
    },
  };
}
