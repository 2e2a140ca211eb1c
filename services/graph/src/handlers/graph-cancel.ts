import type { Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import type { RunDocument } from '../documents/collections.ts';
import { getLatestRun, getRun } from './graph-access.ts';
import type { HandlerDeps } from './handler-deps.ts';

const MAX_WAIT_MS = 20_000;

/** Cancels the latest run of a graph. A run that ends at the same moment has one outcome, which decides the answer. */
export function graphCancel(deps: HandlerDeps): Handler<'graph.cancel'> {
  return async ({ graphId }, { principal }) => {
    const { runId } = await getLatestRun(deps, principal, graphId);
    const woken = await deps.runWork.wake(principal.tenant, runId, { set: { cancelRequested: true } }, { status: 'running' });
    if (!woken) throw hasEnded(await getRun(deps, principal, runId));
    deps.runWork.startDue();
    const run = await deps.waiters.wait(runId, {
      read: () => getRun(deps, principal, runId),
      isDone: ({ status }) => status !== 'running',
      waitMs: MAX_WAIT_MS,
    });
    if (run.status === 'cancelled') return { graphId, cancelled: true };
    if (run.status === 'running')
      throw new ServiceError('UNAVAILABLE', 'The run ends as soon as a replica processes it. Read graph.status.');
    throw hasEnded(run);
  };
}

function hasEnded({ runId, graphId, status }: RunDocument): ServiceError {
  const message = `The run ${runId} of graph ${graphId} has ended already: ${status}.`;
  return new ServiceError('FAILED_PRECONDITION', message, { details: { reason: 'RUN_ENDED', status } });
}
