import type { Handler } from '@switchyard/bus';
import { formatMermaid } from '../runs/mermaid.ts';
import { findLatestRun, getGraph } from './graph-access.ts';
import type { HandlerDeps } from './handler-deps.ts';

/** Returns a flowchart of a graph with the states of its latest run. */
export function graphMermaid(deps: HandlerDeps): Handler<'graph.mermaid'> {
  return async ({ graphId }, { principal }) => {
    const graph = await getGraph(deps, principal, graphId);
    const run = await findLatestRun(deps, principal, graph);
    return { graphId, ...(run && { runId: run.runId }), mermaid: formatMermaid(graph.definition, run?.run) };
  };
}
