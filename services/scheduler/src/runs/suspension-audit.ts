import { createHash } from 'node:crypto';
import type { Bus } from '@switchyard/bus';
import type { JobDocument, RunDocument } from '../documents/collections.ts';

/** Author of suspensions in the audit log. */
const SUSPENSION_AUTHOR = 'switchyard';

export interface SuspensionAuditDeps {
  bus: Pick<Bus, 'as'>;
  owner: string;
  now: () => number;
}

/**
 * Writes the suspension of a job whose maker lost rights to the audit log of its tenant. The id depends on the run, so that a repeated
 * call writes one record.
 */
export async function recordSuspension(
  { bus, owner: replica, now }: SuspensionAuditDeps,
  { tenant, job, run }: { tenant: string; job: JobDocument; run: Pick<RunDocument, 'runId'> },
): Promise<void> {
  const digest = createHash('sha256').update(`${tenant} ${run.runId}`).digest('hex').slice(0, 22);
  const [id, requestId] = [`audit_${digest}`, `req_${digest}`];
  const { jobId, name, agentId, principal } = job;
  const target = { jobId, name, agentId, client: principal.client };
  const audit = bus.as({ tenant, client: SUSPENSION_AUTHOR, scopes: [] });
  const call = { id, method: 'cron.suspend', kind: 'mutate', target, requestId, service: 'scheduler', replica } as const;
  await audit.call('audit.begin', { ...call, deadline: Math.ceil(now()) }, { requestId });
  await audit.call('audit.finish', { id, outcome: 'success' }, { requestId });
}
