import type { Handler } from '@switchyard/bus';
import { ServiceError, type Principal } from '@switchyard/contracts';
import type { JobDocument } from '../documents/collections.ts';
import { resolveJobAgent } from '../jobs/job-agent.ts';
import { findJob, jobNotFound, listJobs } from '../jobs/job-lookup.ts';
import { getNextFire } from '../jobs/fire-decision.ts';
import { parseSchedule } from '../schedule/parse-schedule.ts';
import { nameTaken } from './cron-add.ts';
import type { HandlerDeps } from './handler-deps.ts';
import { readJobOptions } from './read-job-options.ts';

interface SelectedJob {
  job: JobDocument;
  /** The agent that the job has afterwards. */
  agentId: string;
}

/** Changes a job. Fires that passed while the job was paused, or under an earlier schedule, are not repeated. */
export function cronUpdate(deps: HandlerDeps): Handler<'cron.update'> {
  const { jobWork, limits, now } = deps;
  return async ({ name, message, schedule, ...params }, { principal }) => {
    const { job, agentId } = await selectJob(deps, principal, name, params.agentId);
    const { defaultTimezone } = limits(principal.tenant, agentId);
    const changedAt = now();
    const parsed = schedule && parseSchedule(schedule, { defaultTimezone, now: changedAt });
    const { enabled } = params;
    const restarts = parsed !== undefined || (enabled === true && !job.enabled);
    const set = {
      agentId,
      ...(message === undefined ? {} : { message }),
      ...(parsed && { schedule: parsed }),
      ...readJobOptions(params),
      ...(restarts ? { firedUntil: changedAt } : {}),
      ...(enabled === true ? { consecutiveErrors: 0, firesSinceSuccess: 0, backoffUntil: undefined, pausedReason: undefined } : {}),
    };
    const changed = await jobWork.wake(principal.tenant, job.jobId, { set, inc: { revision: 1 } }).catch((error: unknown) => {
      if (error instanceof ServiceError && error.code === 'ALREADY_EXISTS') throw nameTaken(name, agentId);
      throw error;
    });
    if (!changed) throw jobNotFound({ name, agentId: params.agentId });
    jobWork.startDue();
    return { id: job.jobId, name, jobName: name, updated: true, nextRunAtMs: getNextFire(changed) };
  };
}

/** An agent selects among jobs of one name. If there is only one, the job moves to that agent. */
async function selectJob(
  { jobs, agents }: HandlerDeps,
  principal: Principal,
  name: string,
  requested: string | undefined,
): Promise<SelectedJob> {
  if (requested !== undefined) {
    const named = await listJobs(jobs, principal, { name });
    const own = named.find(({ agentId }) => agentId === requested);
    const [only] = named;
    if (!own && only && named.length === 1) return { job: only, agentId: resolveJobAgent(agents, principal, requested) };
  }
  const job = await findJob(jobs, principal, { name, agentId: requested });
  return { job, agentId: job.agentId };
}
