import type { Handler } from '@switchyard/bus';
import { readOutputs } from '../runs/run-outputs.ts';
import { getLatestRun } from './graph-access.ts';
import type { HandlerDeps } from './handler-deps.ts';

/** Returns the outputs of the latest run of a graph: `memory` while it runs, `disk` after its end. */
export function graphOutputs(deps: HandlerDeps): Handler<'graph.outputs'> {
  return async ({ graphId }, { principal }) => {
    const run = await getLatestRun(deps, principal, graphId);
    return { graphId, outputs: await readOutputs(deps, principal, run), source: run.status === 'running' ? 'memory' : 'disk' };
  };
}
