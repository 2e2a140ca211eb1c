import type { Handler } from '@switchyard/bus';
import { findJob } from '../jobs/job-lookup.ts';
import type { HandlerDeps } from './handler-deps.ts';

/** Removes a job. A turn that it ordered runs to its end. */
export function cronRemove({ jobs }: HandlerDeps): Handler<'cron.remove'> {
  return async (params, { principal }) => {
    const { jobId, name } = await findJob(jobs, principal, params);
    await jobs.for(principal).remove({ jobId });
    return { name, jobName: name, removed: true };
  };
}
