import {
  canUseAgent,
  MAX,
  ServiceError,
  type GraphDefinition,
  type GraphNode,
  type GraphWarning,
  type Principal,
} from '@switchyard/contracts';
import type { AgentDirectory } from '@switchyard/service-kit';
import type { StoredDefinition } from '../documents/collections.ts';
import { checkConfig, listAgents } from '../nodes/node-config.ts';
import { getExecutionOrder, resolveDependencies } from './execution-order.ts';
import { findWarnings } from './warnings.ts';

/** Characters of a definition as JSON. */
const MAX_DEFINITION_CHARS = MAX.text;

export interface PreparedDefinition {
  definition: StoredDefinition;
  warnings: GraphWarning[];
}

/** Validates a definition for a client. Throws INVALID_ARGUMENT with the reason. */
export function prepareDefinition(agents: AgentDirectory, principal: Principal, request: GraphDefinition): PreparedDefinition {
  if (JSON.stringify(request).length > MAX_DEFINITION_CHARS)
    throw new ServiceError('INVALID_ARGUMENT', `The definition has more than ${MAX_DEFINITION_CHARS} characters. Shorten the tasks.`);
  const nodes = resolveDependencies(request);
  getExecutionOrder(nodes);
  for (const node of nodes) {
    checkConfig(node);
    checkAgents(agents, principal, node);
  }
  const { edges: _, ...definition } = request;
  const hasDefaultAgent = agents.all(principal.tenant).some(({ isDefault }) => isDefault);
  return { definition: { ...definition, nodes }, warnings: findWarnings({ nodes, hasDefaultAgent }) };
}

function checkAgents(agents: AgentDirectory, principal: Principal, node: GraphNode): void {
  for (const agentId of listAgents(node)) {
    // An agent that the caller may not use is reported like one that does not exist.
    if (canUseAgent(principal, agentId) && agents.find(principal.tenant, agentId)) continue;
    const message = `The agent ${agentId} of node ${node.node_id} does not exist. agents.list returns all agents.`;
    throw new ServiceError('INVALID_ARGUMENT', message, { details: { reason: 'AGENT_NOT_FOUND', agentId } });
  }
}
