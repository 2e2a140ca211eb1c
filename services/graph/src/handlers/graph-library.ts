import type { Handler } from '@switchyard/bus';
import { ServiceError, type Principal } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import { prepareDefinition } from '../definition/prepare-definition.ts';
import type { SavedGraphDocument } from '../documents/collections.ts';
import { canSee, getGraph } from './graph-access.ts';
import type { HandlerDeps } from './handler-deps.ts';

const MAX_SAVED_GRAPHS = 1_000;

/** Saves the definition of a graph under a name, and replaces one that the caller may see. */
export function graphSave(deps: HandlerDeps): Handler<'graph.save'> {
  return async ({ name, graphId }, { principal }) => {
    const { definition } = await getGraph(deps, principal, graphId);
    const { client } = principal;
    const guard = principal.sessions === 'own' ? { if: { client } } : {};
    const document = { name, client, definition, nodeCount: definition.nodes.length, createdAt: deps.now() };
    if (await deps.saved.for(principal).replace(document, guard)) return { name, saved: true };
    throw new ServiceError('INVALID_ARGUMENT', `Another client has saved a graph named ${name}. Choose another name.`);
  };
}

/** Creates a graph from a saved definition. The definition is validated again, because agents may have been deleted. */
export function graphLoad(deps: HandlerDeps): Handler<'graph.load'> {
  return async ({ name }, { principal }) => {
    const saved = await getSaved(deps, principal, name);
    const { definition, warnings } = prepareDefinition(deps.agents, principal, saved.definition);
    const graphId = mintId('graph');
    const at = deps.now();
    const { client } = principal;
    await deps.graphs.for(principal).insert({ graphId, client, name, definition, warnings, createdAt: at, usedAt: at });
    return { graphId, name };
  };
}

/** Lists the saved definitions by name. */
export function graphList({ saved }: HandlerDeps): Handler<'graph.list'> {
  return async (_params, { principal }) => {
    const { items } = await saved.for(principal).find({}, { sort: [['name', 'asc']], limit: MAX_SAVED_GRAPHS });
    const visible = items.filter((document) => canSee(principal, document));
    return { graphs: visible.map(({ name, createdAt, nodeCount }) => ({ name, createdAt, nodeCount })) };
  };
}

/** Deletes a saved definition. Graphs that were loaded from it, and their runs, stay. */
export function graphDelete(deps: HandlerDeps): Handler<'graph.delete'> {
  return async ({ name }, { principal }) => {
    await getSaved(deps, principal, name);
    await deps.saved.for(principal).remove({ name });
    return { name, deleted: true };
  };
}

async function getSaved({ saved }: HandlerDeps, principal: Principal, name: string): Promise<SavedGraphDocument> {
  const document = await saved.for(principal).get(name);
  if (document && canSee(principal, document)) return document;
  throw new ServiceError('NOT_FOUND', `No graph is saved as ${name}. graph.list returns all saved graphs.`);
}
