import type { Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import { toStoredPrincipal } from '@switchyard/service-kit';
import { newWork } from '@switchyard/work';
import type { JobDocument } from '../documents/collections.ts';
import { resolveJobAgent } from '../jobs/job-agent.ts';
import { getNextFire } from '../jobs/fire-decision.ts';
import { parseSchedule } from '../schedule/parse-schedule.ts';
import type { HandlerDeps } from './handler-deps.ts';
import { readJobOptions } from './read-job-options.ts';

/** Creates a job. Its turns run with the rights of the caller. */
export function cronAdd({ jobs, jobWork, agents, limits, now }: HandlerDeps): Handler<'cron.add'> {
  return async ({ name, message, schedule, ...params }, { principal }) => {
    const agentId = resolveJobAgent(agents, principal, params.agentId);
    const { defaultTimezone, maxJobs } = limits(principal.tenant, agentId);
    const createdAt = now();
    const job: JobDocument = {
      ...newWork(),
      sessionStrategy: 'fresh',
      overlap: 'skip',
      jitterMs: 0,
      enabled: true,
      jobId: mintId('job'),
      name,
      agentId,
      message,
      schedule: parseSchedule(schedule, { defaultTimezone, now: createdAt }),
      principal: toStoredPrincipal(principal),
      ...readJobOptions(params),
      firedUntil: createdAt,
      revision: 0,
      createdAt,
      consecutiveErrors: 0,
      firesSinceSuccess: 0,
    };
    if (maxJobs > 0 && (await jobs.for(principal).count({ agentId })) >= maxJobs) throw tooManyJobs(agentId, maxJobs);
    const nextRunAtMs = getNextFire(job);
    try {
      await jobs.for(principal).insert({ ...job, ...(nextRunAtMs === null ? {} : { dueAt: nextRunAtMs }) });
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'ALREADY_EXISTS') throw nameTaken(name, agentId);
      throw error;
    }
    jobWork.startDue();
    const { jobId: id, enabled } = job;
    return { id, jobId: id, name, created: true, scheduleKind: job.schedule.kind, nextRunAtMs, enabled };
  };
}

function tooManyJobs(agentId: string, maxJobs: number): ServiceError {
  const message = `The agent ${agentId} has ${maxJobs} jobs, the limit of cron.maxJobs. Remove a job, or raise scheduler.cron.maxJobs or the limit of the agent.`;
  return new ServiceError('RESOURCE_EXHAUSTED', message, { details: { reason: 'MAX_JOBS', retryable: false } });
}

export function nameTaken(name: string, agentId: string): ServiceError {
  return new ServiceError(
    'ALREADY_EXISTS',
    `The agent ${agentId} has a job named ${name} already. Choose another name, or use cron.update.`,
  );
}
