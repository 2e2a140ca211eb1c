import type { Handler } from '@switchyard/bus';
import type { GraphDefinition, Principal } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import { getExecutionOrder } from '../definition/execution-order.ts';
import { prepareDefinition } from '../definition/prepare-definition.ts';
import { listPlaceholders } from '../definition/templates.ts';
import type { GraphDocument } from '../documents/collections.ts';
import type { HandlerDeps } from './handler-deps.ts';

/** Validates a definition and stores it under a new id. */
export function graphDefine(deps: HandlerDeps): Handler<'graph.define'> {
  return async (request, { principal }) => {
    const { graphId, definition, warnings } = await storeDefinition(deps, principal, request);
    const variables = new Set(definition.nodes.flatMap(({ task }) => listPlaceholders(task).variables));
    return {
      graphId,
      nodeCount: definition.nodes.length,
      executionOrder: getExecutionOrder(definition.nodes),
      warnings,
      ...(definition.label === undefined ? {} : { label: definition.label }),
      ...(variables.size === 0 ? {} : { userVariables: [...variables] }),
    };
  };
}

/** Stores a definition under a new id. Throws INVALID_ARGUMENT for one that is invalid. */
export async function storeDefinition(deps: HandlerDeps, principal: Principal, request: GraphDefinition): Promise<GraphDocument> {
  const { definition, warnings } = prepareDefinition(deps.agents, principal, request);
  const graphId = mintId('graph');
  const at = deps.now();
  return deps.graphs.for(principal).insert({ graphId, client: principal.client, definition, warnings, createdAt: at, usedAt: at });
}
