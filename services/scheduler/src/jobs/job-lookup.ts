import { canUseAgent, ServiceError, type Principal } from '@switchyard/contracts';
import type { Collection, Filter } from '@switchyard/store';
import type { JobDocument } from '../documents/collections.ts';

/** Returns all jobs that the caller may see: those of its agents, and with access to its own sessions only, those it made. */
export async function listJobs(jobs: Collection<JobDocument>, principal: Principal, filter: Filter<JobDocument>): Promise<JobDocument[]> {
  const found: JobDocument[] = [];
  let cursor: string | undefined;
  do {
    const page = await jobs.for(principal).find(filter, { limit: 1_000, ...(cursor === undefined ? {} : { cursor }) });
    found.push(...page.items.filter((job) => canSeeJob(principal, job)));
    cursor = page.cursor;
  } while (cursor !== undefined);
  return found;
}

function canSeeJob(caller: Principal, { agentId, principal }: JobDocument): boolean {
  return canUseAgent(caller, agentId) && (caller.sessions !== 'own' || principal.client === caller.client);
}

export interface JobName {
  name: string;
  agentId?: string | undefined;
}

/** Returns the job of this name. Throws INVALID_ARGUMENT if several agents have one and the call names no agent. */
export async function findJob(jobs: Collection<JobDocument>, principal: Principal, { name, agentId }: JobName): Promise<JobDocument> {
  const found = await listJobs(jobs, principal, { name, ...(agentId === undefined ? {} : { agentId }) });
  const [job] = found;
  if (!job) throw jobNotFound({ name, agentId });
  if (found.length > 1) {
    const agents = found.map((one) => one.agentId).toSorted();
    throw new ServiceError('INVALID_ARGUMENT', `The agents ${agents.join(', ')} have a job named ${name}. Pass agentId to select one.`);
  }
  return job;
}

export function jobNotFound({ name, agentId }: JobName): ServiceError {
  const place = agentId === undefined ? '' : ` of agent ${agentId}`;
  return new ServiceError('NOT_FOUND', `The job ${name}${place} does not exist. cron.list returns all jobs.`);
}
