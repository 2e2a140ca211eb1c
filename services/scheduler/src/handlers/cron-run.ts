import type { Handler } from '@switchyard/bus';
import { randomBase62 } from '@switchyard/security';
import { findJob } from '../jobs/job-lookup.ts';
import { newRun } from '../jobs/job-work.ts';
import { addRun } from '../runs/run-overlap.ts';
import type { HandlerDeps } from './handler-deps.ts';

const RUN_ID_DIGITS = 12;

/** Inserts a run that is due now, also of a paused job, and returns without waiting for it. The schedule does not move. */
export function cronRun({ jobs, runs, jobWork, runWork, now }: HandlerDeps): Handler<'cron.run'> {
  return async ({ name, mode, agentId }, { principal }) => {
    if (name === undefined) {
      jobWork.startDue();
      return { triggered: true, mode };
    }
    const job = await findJob(jobs, principal, { name, agentId });
    if (mode === 'due') {
      await jobWork.wake(principal.tenant, job.jobId);
      jobWork.startDue();
    } else {
      const runId = `${job.jobId}@run-${randomBase62(RUN_ID_DIGITS)}`;
      await addRun({ runs, runWork }, principal.tenant, { job, run: newRun(job, runId, now()) });
      runWork.startDue();
    }
    return { triggered: true, mode, jobName: name };
  };
}
