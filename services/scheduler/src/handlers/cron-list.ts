import { setImmediate } from 'node:timers/promises';
import type { Handler } from '@switchyard/bus';
import type { CronJob } from '@switchyard/contracts';
import type { JobDocument } from '../documents/collections.ts';
import { listJobs } from '../jobs/job-lookup.ts';
import { toJob } from '../jobs/job-view.ts';
import { countFiresPerHour, HOUR_MS } from '../schedule/fire-density.ts';
import type { HandlerDeps } from './handler-deps.ts';

/** Jobs whose fires one call counts. */
const MAX_COUNTED_JOBS = 1_000;

/** Lists the jobs that the caller may see, by name. */
export function cronList({ jobs, now }: HandlerDeps): Handler<'cron.list'> {
  return async ({ agentId, density }, { principal, signal }) => {
    const found = await listJobs(jobs, principal, agentId === undefined ? {} : { agentId });
    const sorted = found.toSorted((one, other) => (one.name < other.name ? -1 : 1));
    if (!density) return { jobs: sorted.map(toJob) };
    const afterMs = now();
    const hoursFromMs = Math.floor(afterMs / HOUR_MS) * HOUR_MS;
    const listed: CronJob[] = [];
    for (const [index, job] of sorted.entries()) {
      signal.throwIfAborted();
      if (index < MAX_COUNTED_JOBS) listed.push({ ...toJob(job), firesPerHour: countDay(job, { fromMs: hoursFromMs, afterMs }) });
      else listed.push(toJob(job));
      // A job that fires every minute takes several milliseconds, in which other calls would wait.
      await setImmediate();
    }
    return { jobs: listed, hoursFromMs };
  };
}

/** A paused job, and a job within its back-off, has no fires. */
function countDay(job: JobDocument, { fromMs, afterMs }: { fromMs: number; afterMs: number }): number[] {
  const { enabled, backoffUntil = 0 } = job;
  const untilMs = enabled ? Math.max(afterMs, backoffUntil - 1) : Infinity;
  return countFiresPerHour(job, { fromMs, afterMs: untilMs });
}
