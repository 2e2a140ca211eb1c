import { expectedConfig, nodeTypeConfigs, ServiceError, type GraphNode, type NodeType } from '@switchyard/contracts';
import type { z } from 'zod';

/** Returns the configuration of a typed node, with defaults. */
export function readConfig<T extends NodeType>({ type_config: config }: GraphNode, type: T): z.output<(typeof nodeTypeConfigs)[T]> {
  return nodeTypeConfigs[type].parse(config) as z.output<(typeof nodeTypeConfigs)[T]>;
}

/** Throws INVALID_ARGUMENT for a configuration of another form; the message ends with the expected one. */
export function checkConfig({ node_id: nodeId, type_id: type, type_config: config }: GraphNode): void {
  if (type === undefined) return;
  const { error } = nodeTypeConfigs[type].safeParse(config);
  if (!error) return;
  const issues = error.issues.map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`)).join('; ');
  const message = `The type_config of node ${nodeId} does not fit the type ${type}: ${issues}. ${expectedConfig(type)}`;
  throw new ServiceError('INVALID_ARGUMENT', message, { details: { reason: 'TYPE_CONFIG', nodeId } });
}

/** Returns the agents that a node names, without the default agent. */
export function listAgents(node: GraphNode): string[] {
  const { type_id: type } = node;
  if (type === undefined) return node.agent === undefined ? [] : [node.agent];
  return AGENT_LISTS[type](node);
}

const AGENT_LISTS: Readonly<Record<NodeType, (node: GraphNode) => string[]>> = {
  agent: (node) => [readConfig(node, 'agent').agent],
  debate(node) {
    const { agents, synthesizer } = readConfig(node, 'debate');
    return synthesizer === undefined ? agents : [...agents, synthesizer];
  },
  vote: (node) => readConfig(node, 'vote').voters,
  refine: (node) => readConfig(node, 'refine').reviewers,
  collaborate: (node) => readConfig(node, 'collaborate').agents,
  'approval-gate': () => [],
  'map-reduce'(node) {
    const { mappers, reducer } = readConfig(node, 'map-reduce');
    return [...mappers.map(({ agent }) => agent), reducer];
  },
};
