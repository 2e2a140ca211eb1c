import type { GraphNode, NodeType } from '@switchyard/contracts';
import { agentNode } from './agent-node.ts';
import { approvalGateNode } from './approval-gate-node.ts';
import { collaborateNode } from './collaborate-node.ts';
import { debateNode } from './debate-node.ts';
import { mapReduceNode } from './map-reduce-node.ts';
import type { NodeDriver } from './node-driver.ts';
import { refineNode } from './refine-node.ts';
import { voteNode } from './vote-node.ts';

const DRIVERS: Readonly<Record<NodeType, NodeDriver>> = {
  agent: agentNode,
  debate: debateNode,
  vote: voteNode,
  refine: refineNode,
  collaborate: collaborateNode,
  'approval-gate': approvalGateNode,
  'map-reduce': mapReduceNode,
};

/** Default time limit of one attempt; without one, only that of the graph applies. */
const TIMEOUTS_MS: Readonly<Record<NodeType, number>> = {
  agent: 300_000,
  debate: 600_000,
  vote: 300_000,
  refine: 300_000,
  collaborate: 300_000,
  'approval-gate': Infinity,
  'map-reduce': 600_000,
};

export function getDriver({ type_id: type }: GraphNode): NodeDriver {
  return type === undefined ? agentNode : DRIVERS[type];
}

/** Returns the time limit of one attempt in milliseconds. An approval gate has the limit of its request instead. */
export function getTimeoutMs({ type_id: type, timeout_ms: timeoutMs }: GraphNode): number {
  return timeoutMs ?? (type === undefined ? Infinity : TIMEOUTS_MS[type]);
}

/** Returns how often a failed attempt is repeated. A person is not asked again unless the graph says so. */
export function getRetries({ type_id: type, retries }: GraphNode): number {
  return retries ?? (type === 'approval-gate' ? 0 : 1);
}
