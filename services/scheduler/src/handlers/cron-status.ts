import type { Handler } from '@switchyard/bus';
import { findJob } from '../jobs/job-lookup.ts';
import { toJobStatus } from '../jobs/job-view.ts';
import type { HandlerDeps } from './handler-deps.ts';

export function cronStatus({ jobs }: HandlerDeps): Handler<'cron.status'> {
  return async (params, { principal }) => toJobStatus(await findJob(jobs, principal, params));
}
