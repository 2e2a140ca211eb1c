import { inserted, type Collection } from '@switchyard/store';
import { createWork, newWork, type Lease, type Outcome, type Work } from '@switchyard/work';
import type { JobDocument, RunDocument } from '../documents/collections.ts';
import { findLastFire, findNextFire } from '../schedule/schedule.ts';

/** Fires that are processed at once on this replica. A fire is a few short writes. */
const MAX_CONCURRENT_FIRES = 64;
/** A job without a next fire waits until it is changed. */
const NEVER = Number.MAX_SAFE_INTEGER;

export interface JobWorkDeps {
  jobs: Collection<JobDocument>;
  runs: Collection<RunDocument>;
  owner: string;
  now: () => number;
  log: { warn(fields: object, message: string): void };
  /** Called after a run was inserted. */
  onRun: () => void;
}

/** Returns the id of the run of one fire. */
export function formatRunId(jobId: string, firedAt: number): string {
  return `${jobId}@${firedAt}`;
}

/** Returns the run of a fire, as work that is due. */
export function newRun(job: JobDocument, runId: string, runAt: number): RunDocument {
  const { jobId, agentId, name: jobName, principal } = job;
  return { ...newWork(), runId, jobId, agentId, jobName, principal, runAt };
}

/** Returns the next fire of an enabled job; null if there is none. */
export function getNextFire({ enabled, schedule, firedUntil }: JobDocument): number | null {
  return enabled ? findNextFire(schedule, firedUntil) : null;
}

/**
 * Fires jobs. Each fire inserts a run under a key of the job and the instant, and then moves the job on. After a crash in between, the
 * next replica finds the run and only moves the job. Fires that passed while no replica ran become one run.
 */
export function createJobWork({ jobs, runs, owner, now, log, onRun }: JobWorkDeps): Work<JobDocument> {
  async function fire(lease: Lease<JobDocument>): Promise<Outcome<JobDocument>> {
    const { document: job, tenant } = lease;
    const next = getNextFire(job);
    if (next === null) return { parkUntil: NEVER };
    if (next > now()) return { parkUntil: next };
    const firedAt = findLastFire(job.schedule, now()) ?? next;
    const run = newRun(job, formatRunId(job.jobId, firedAt), firedAt);
    if (!lease.isHeld()) return { parkUntil: next };
    await inserted(() => runs.for({ tenant }).insert({ ...run, dueAt: now() }));
    onRun();
    const { jobId, revision } = job;
    const moved = await jobs.for({ tenant }).update({ jobId, revision, fence: lease.fence }, { set: { firedUntil: firedAt } });
    // A change of the job in the meantime decides about its next fire.
    return { parkUntil: moved ? (getNextFire(moved) ?? NEVER) : now() };
  }

  return createWork<JobDocument>({
    documents: jobs,
    owner,
    now,
    log,
    capacity: () => MAX_CONCURRENT_FIRES,
    run: fire,
    poison: { maxAttempts: Infinity, outcome: () => ({ parkUntil: NEVER }) },
  });
}
