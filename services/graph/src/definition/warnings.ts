import type { GraphNode, GraphWarning } from '@switchyard/contracts';
import { listPlaceholders } from './templates.ts';

export interface FindWarningsOptions {
  nodes: readonly GraphNode[];
  /** Whether a node without an agent has the default one. */
  hasDefaultAgent: boolean;
}

/** Returns what is valid in a graph but probably not intended. */
export function findWarnings({ nodes, hasDefaultAgent }: FindWarningsOptions): GraphWarning[] {
  const required = new Set(nodes.flatMap(({ depends_on: dependsOn }) => dependsOn));
  return nodes.flatMap((node) => {
    const isOrphan = nodes.length > 1 && node.depends_on.length === 0 && !required.has(node.node_id);
    return [
      ...findTypeWarnings(node),
      ...findTemplateWarnings(node),
      ...(isOrphan ? [warn(node, 'orphan_node', 'is connected to no other node')] : []),
      ...(node.barrier_mode !== 'all' && node.depends_on.length < 2
        ? [warn(node, 'barrier_mode_low_deps', `has the barrier ${node.barrier_mode} and fewer than two dependencies`)]
        : []),
      ...(node.type_id === undefined && node.agent === undefined && !hasDefaultAgent
        ? [warn(node, 'no_agent_id', 'names no agent, and there is no default agent', 'Set agent.')]
        : []),
    ];
  });
}

function findTypeWarnings(node: GraphNode): GraphWarning[] {
  const { type_id: type, agent, retries = 0 } = node;
  if (type === undefined) return [];
  const found: GraphWarning[] = [];
  if (agent !== undefined)
    found.push(warn(node, 'typed_node_agentid_ignored', `ignores its agent, because its agents are those of type_config`, 'Remove agent.'));
  if (retries > 0 && type === 'approval-gate')
    found.push(warn(node, 'typed_node_approval_retry', 'asks the person again on each retry', 'Set retries to 0.'));
  else if (retries > 0)
    found.push(warn(node, 'typed_node_expensive_retry', `runs all steps of the ${type} again on each retry`, 'Set retries to 0.'));
  return found;
}

function findTemplateWarnings(node: GraphNode): GraphWarning[] {
  const unknown = listPlaceholders(node.task).nodes.filter((nodeId) => !node.depends_on.includes(nodeId));
  return unknown.map((nodeId) =>
    warn(node, 'unresolved_template', `uses {{${nodeId}.result}}, but does not depend on ${nodeId}`, `Add ${nodeId} to depends_on.`),
  );
}

/** Returns a warning for each variable that no input sets. */
export function findUnresolvedVariables(nodes: readonly GraphNode[], inputs: Readonly<Record<string, string>>): GraphWarning[] {
  return nodes.flatMap((node) =>
    listPlaceholders(node.task)
      .variables.filter((name) => !Object.hasOwn(inputs, name))
      .map((name) => warn(node, 'unresolved_variable', `uses \${${name}}, which no input sets`, `Pass ${name} in inputs.`)),
  );
}

function warn({ node_id: nodeId }: GraphNode, type: GraphWarning['type'], text: string, fix?: string): GraphWarning {
  return { type, nodeId, message: `The node ${nodeId} ${text}.`, ...(fix === undefined ? {} : { fix }) };
}
