import { ServiceError, type Principal } from '@switchyard/contracts';
import type { GraphDocument, RunDocument } from '../documents/collections.ts';
import type { HandlerDeps } from './handler-deps.ts';

/** With access to its own sessions only, a client sees the graphs and runs that it made. */
export function canSee(caller: Principal, { client }: { client: string }): boolean {
  return caller.sessions !== 'own' || client === caller.client;
}

/** Returns a graph that the caller may see. Throws NOT_FOUND otherwise. */
export async function getGraph({ graphs }: Pick<HandlerDeps, 'graphs'>, principal: Principal, graphId: string): Promise<GraphDocument> {
  const graph = await graphs.for(principal).get(graphId);
  if (graph && canSee(principal, graph)) return graph;
  throw new ServiceError('NOT_FOUND', `The graph ${graphId} does not exist. graph.define and graph.load return ids of graphs.`);
}

/** Returns a run that the caller may see. Throws NOT_FOUND otherwise. */
export async function getRun({ runs }: Pick<HandlerDeps, 'runs'>, principal: Principal, runId: string): Promise<RunDocument> {
  const run = await runs.for(principal).get(runId);
  if (run && canSee(principal, run)) return run;
  throw new ServiceError('NOT_FOUND', `The run ${runId} does not exist. graph.runs lists all runs.`);
}

/** Returns the latest run of a graph; null if it was never executed or the run was deleted. */
export async function findLatestRun(
  { runs }: Pick<HandlerDeps, 'runs'>,
  principal: Principal,
  graph: GraphDocument,
): Promise<RunDocument | null> {
  const { items } = await runs.for(principal).find({ graphId: graph.graphId }, { sort: [['startedAt', 'desc']], limit: 1 });
  return items[0] ?? null;
}

/** Returns the latest run of a graph. Throws NOT_FOUND without one. */
export async function getLatestRun(
  deps: Pick<HandlerDeps, 'graphs' | 'runs'>,
  principal: Principal,
  graphId: string,
): Promise<RunDocument> {
  const run = await findLatestRun(deps, principal, await getGraph(deps, principal, graphId));
  if (run) return run;
  throw new ServiceError('NOT_FOUND', `The graph ${graphId} has no run. graph.execute starts one.`);
}
