import type { Handler } from '@switchyard/bus';
import { listJobs } from '../jobs/job-lookup.ts';
import { toJob } from '../jobs/job-view.ts';
import type { HandlerDeps } from './handler-deps.ts';

/** Lists the jobs that the caller may see, by name. */
export function cronList({ jobs }: HandlerDeps): Handler<'cron.list'> {
  return async ({ agentId }, { principal }) => {
    const found = await listJobs(jobs, principal, agentId === undefined ? {} : { agentId });
    return { jobs: found.map(toJob).toSorted((one, other) => (one.name < other.name ? -1 : 1)) };
  };
}
