import type { Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import { toStoredPrincipal } from '@switchyard/service-kit';
import { resumeRunState } from '../engine/run-state.ts';
import { writeWithSlot } from '../runs/live-slots.ts';
import { getRun } from './graph-access.ts';
import { awaitRun } from './graph-execute.ts';
import { isBusy, stillRunning } from './graph-runs.ts';
import type { HandlerDeps } from './handler-deps.ts';
import { readInputs } from './read-inputs.ts';

/** Continues a failed or cancelled run with the rights of the caller. Completed nodes keep their outputs. */
export function graphResume(deps: HandlerDeps): Handler<'graph.resume'> {
  return async ({ runId, inputs }, { principal, signal }) => {
    const document = await getRun(deps, principal, runId);
    const { status, completedAt } = document;
    if (status === 'completed')
      throw new ServiceError('FAILED_PRECONDITION', `The run ${runId} has completed. Execute its graph to run it again.`, {
        details: { reason: 'RUN_ENDED', status },
      });
    if (status === 'running' || isBusy(document.run)) throw stillRunning(runId);
    const changes = {
      run: resumeRunState(document.run, deps.now()),
      status: 'running',
      started: false,
      cancelRequested: false,
      completedAt: undefined,
      inputs: { ...document.inputs, ...readInputs(inputs) },
      principal: toStoredPrincipal(principal),
    };
    const guard = { status, ...(completedAt === undefined ? {} : { completedAt }) };
    // Another call may have resumed the run since it was read.
    const resumed = await writeWithSlot(deps, principal, (liveSlot) =>
      deps.runWork.wake(principal.tenant, runId, { set: { ...changes, liveSlot } }, guard),
    );
    if (!resumed) throw stillRunning(runId);
    deps.runWork.startDue();
    return awaitRun(deps, principal, { runId, warnings: [], signal });
  };
}
