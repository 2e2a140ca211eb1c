import type { Handler } from '@switchyard/bus';
import type { Principal, Result } from '@switchyard/contracts';
import { readOutputs } from '../runs/run-outputs.ts';
import { describeRun, describeUnstarted } from '../runs/run-view.ts';
import { STEP_ROOM } from '../runs/step-work.ts';
import { canSee, findLatestRun, getGraph } from './graph-access.ts';
import type { HandlerDeps } from './handler-deps.ts';

const OUTPUT_CHARS = 500;
const MAX_GRAPHS = 200;
const MINUTE_MS = 60_000;

/** Returns the progress of one graph, or the recent runs with the load of the tenant. */
export function graphStatus(deps: HandlerDeps): Handler<'graph.status'> {
  return async ({ graphId, recentMinutes }, { principal }) => {
    if (graphId === undefined) return listRecent(deps, principal, recentMinutes);
    const graph = await getGraph(deps, principal, graphId);
    const run = await findLatestRun(deps, principal, graph);
    return run ? describeRun(run, await readOutputs(deps, principal, run, OUTPUT_CHARS)) : describeUnstarted(graph);
  };
}

async function listRecent(deps: HandlerDeps, principal: Principal, recentMinutes: number | undefined): Promise<Result<'graph.status'>> {
  const since = recentMinutes === undefined ? 0 : Math.max(deps.now() - recentMinutes * MINUTE_MS, 0);
  const recent = { startedAt: { gte: Math.floor(since) } };
  const { items } = await deps.runs.for(principal).find(recent, { sort: [['startedAt', 'desc']], limit: MAX_GRAPHS });
  const steps = deps.steps.for(principal);
  const room = `${principal.tenant} ${STEP_ROOM}`;
  const active = await steps.count({ slotRoom: room });
  const queued = await steps.count({ waitRoom: room });
  return {
    graphs: items
      .filter((run) => canSee(principal, run))
      .map(({ graphId, definition: { label }, run: { status, startedAt, completedAt } }) => ({
        graphId,
        ...(label === undefined ? {} : { label }),
        status,
        startedAt,
        ...(completedAt === undefined ? {} : { completedAt }),
      })),
    concurrency: { globalActiveSubAgents: active, maxGlobalSubAgents: deps.limits().maxSubAgents, queueDepth: queued },
  };
}
