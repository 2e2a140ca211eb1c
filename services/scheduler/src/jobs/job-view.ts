import type { CronJob } from '@switchyard/contracts';
import type { JobDocument } from '../documents/collections.ts';
import { getNextFire } from './fire-decision.ts';

/** Returns the state of a job as `cron.status` reports it. */
export function toJobStatus(job: JobDocument): CronJob {
  const { jobId: id, name, agentId, schedule, enabled, lastRunAt: lastRunAtMs, lastError, consecutiveErrors, pausedReason } = job;
  return {
    id,
    name,
    agentId,
    scheduleKind: schedule.kind,
    nextRunAtMs: getNextFire(job),
    enabled,
    ...(lastRunAtMs === undefined ? {} : { lastRunAtMs }),
    ...(lastError === undefined ? {} : { lastError }),
    consecutiveErrors,
    ...(enabled || pausedReason === undefined ? {} : { pausedReason }),
  };
}

/** Returns a job as `cron.list` reports it, with its schedule. */
export function toJob(job: JobDocument): CronJob {
  const { message, createdAt: createdAtMs, schedule } = job;
  return { ...toJobStatus(job), ...describeSchedule(schedule), message, createdAtMs };
}

function describeSchedule(schedule: JobDocument['schedule']): Partial<CronJob> {
  if (schedule.kind === 'cron') return { expr: schedule.expr, tz: schedule.tz };
  return schedule.kind === 'interval' ? { everyMs: schedule.everyMs } : { at: schedule.atMs };
}
