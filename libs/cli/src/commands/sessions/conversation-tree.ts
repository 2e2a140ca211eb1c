import type { CallResult } from '@switchyard/client';
import { oneLine } from '../../output/output.ts';
import { minute } from '../../output/times.ts';

export type Tree = CallResult<'context.tree'>;
type Node = Tree['nodes'][number];

/**
 * Renders the summary tree of a conversation: root summaries, oldest first, with their children, then the messages that are not
 * summarized. A summary with several parents is shown below the first one.
 */
export function drawTree({ nodes, messageCount }: Tree): string[] {
  const byId = new Map(nodes.map((node) => [node.summaryId, node]));
  const drawn = new Set<string>();
  const last = `${messageCount} ${messageCount === 1 ? 'message' : 'messages'}, unchanged`;
  const roots = inOrder(nodes.filter(({ parentIds }) => parentIds.every((id) => !byId.has(id))));
  return [...roots.flatMap((node) => branch(node, { byId, drawn, indent: '' }, false)), `└─ ${last}`];
}

interface Drawing {
  byId: ReadonlyMap<string, Node>;
  drawn: Set<string>;
  indent: string;
}

function branch(node: Node, drawing: Drawing, isLast: boolean): string[] {
  const { byId, drawn, indent } = drawing;
  if (drawn.has(node.summaryId)) return [];
  drawn.add(node.summaryId);
  const below = inOrder(node.childIds.flatMap((id) => byId.get(id) ?? []).filter(({ summaryId }) => !drawn.has(summaryId)));
  const inner = { ...drawing, indent: `${indent}${isLast ? '   ' : '│  '}` };
  return [
    `${indent}${isLast ? '└─' : '├─'} ${described(node)}`,
    ...below.flatMap((child, at) => branch(child, inner, at === below.length - 1)),
  ];
}

function inOrder(nodes: readonly Node[]): Node[] {
  return nodes.toSorted((a, b) => a.createdAt - b.createdAt || (a.summaryId < b.summaryId ? -1 : 1));
}

function described({ kind, depth, tokenCount, createdAt, taint, contentPreview }: Node): string {
  const facts = [kind === 'leaf' ? 'summary' : `summary of summaries, ${depth} deep`, `${tokenCount} tokens`, minute(createdAt)];
  return `${facts.join(', ')}${taint ? ', of untrusted text' : ''}: ${oneLine(contentPreview)}`;
}
