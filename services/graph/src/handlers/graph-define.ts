import type { Handler } from '@switchyard/bus';
import { mintId } from '@switchyard/security';
import { prepareDefinition } from '../definition/prepare-definition.ts';
import { listPlaceholders } from '../definition/templates.ts';
import type { HandlerDeps } from './handler-deps.ts';

/** Validates a definition and stores it under a new id. */
export function graphDefine({ graphs, agents, now }: HandlerDeps): Handler<'graph.define'> {
  return async (request, { principal }) => {
    const { definition, executionOrder, warnings } = prepareDefinition(agents, principal, request);
    const graphId = mintId('graph');
    const at = now();
    await graphs.for(principal).insert({ graphId, client: principal.client, definition, warnings, createdAt: at, usedAt: at });
    const variables = new Set(definition.nodes.flatMap(({ task }) => listPlaceholders(task).variables));
    return {
      graphId,
      nodeCount: definition.nodes.length,
      executionOrder,
      warnings,
      ...(definition.label === undefined ? {} : { label: definition.label }),
      ...(variables.size === 0 ? {} : { userVariables: [...variables] }),
    };
  };
}
