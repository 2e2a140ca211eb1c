import type { Clock } from '@switchyard/service-kit';
import { inserted, type Collection } from '@switchyard/store';
import { counter } from '@switchyard/telemetry';
import { createWork, newWork, type Lease, type Outcome, type Work } from '@switchyard/work';
import type { JobDocument, RunDocument } from '../documents/collections.ts';
import { countFires } from '../runs/run-end.ts';
import { decideFire, type FireDecision } from './fire-decision.ts';

/** Fires that are processed at once on this replica. A fire is a few short writes. */
const MAX_CONCURRENT_FIRES = 64;
/** A job without a next fire waits until it is changed. */
const NEVER = Number.MAX_SAFE_INTEGER;
/** Delay after which a job looks again whether `cron.enabled` is on. */
const DISABLED_POLL_INTERVAL_MS = 60_000;
const OPEN_STATES = ['queued', 'running', 'parked'] as const;

export interface JobWorkDeps {
  jobs: Collection<JobDocument>;
  runs: Collection<RunDocument>;
  owner: string;
  now: () => number;
  clock?: Clock;
  /** The setting `cron.enabled` of the agent. */
  enabled: (tenant: string, agentId: string) => boolean;
  log: { warn(fields: object, message: string): void };
  /** Adds a run. A run whose key exists is not added again. */
  addRun: (tenant: string, added: { job: JobDocument; run: RunDocument }) => Promise<unknown>;
}

/** Returns the run of a fire, as work that is due. */
export function newRun(job: JobDocument, runId: string, runAt: number): RunDocument {
  const { jobId, agentId, name: jobName, principal } = job;
  return { ...newWork(), runId, jobId, agentId, jobName, principal, runAt };
}

/**
 * Fires jobs. Each fire inserts a run under a key of the job and the instant, and then moves the job on. After a crash in between, the
 * next replica finds the run and only moves the job.
 */
export function createJobWork(deps: JobWorkDeps): Work<JobDocument> {
  const { jobs, owner, now, enabled, log } = deps;

  async function fire(lease: Lease<JobDocument>): Promise<Outcome<JobDocument>> {
    const { document: job, tenant } = lease;
    if (!enabled(tenant, job.agentId)) return { parkUntil: now() + DISABLED_POLL_INTERVAL_MS };
    const decision = await decideFire(job, now(), () => countOpenRuns(deps, tenant, job.jobId));
    if (decision.kind === 'wait') return { parkUntil: decision.until ?? NEVER };
    if (!lease.isHeld()) return { parkUntil: now() };
    const { firedUntil, fires } = await insertRuns(deps, { tenant, job, decision });
    const { jobId, revision } = job;
    // A change of the job in the meantime decides about its next fire.
    await jobs.for({ tenant }).update({ jobId, revision, fence: lease.fence }, { set: { firedUntil }, ...countFires(job, fires) });
    return { parkUntil: now() };
  }

  return createWork<JobDocument>({
    documents: jobs,
    owner,
    now,
    log,
    ...(deps.clock ? { clock: deps.clock } : {}),
    capacity: () => MAX_CONCURRENT_FIRES,
    run: fire,
    poison: { maxAttempts: Infinity, outcome: () => ({ parkUntil: NEVER }) },
  });
}

function countOpenRuns({ runs }: JobWorkDeps, tenant: string, jobId: string): Promise<number> {
  return runs.for({ tenant }).count({ jobId, state: { in: OPEN_STATES } });
}

interface InsertRunsOptions {
  tenant: string;
  job: JobDocument;
  decision: Exclude<FireDecision, { kind: 'wait' }>;
}

/**
 * Inserts the run of a fire, and a run with the status skipped for each fire that does not run. Returns the fires that have a run now. If
 * the first skipped fire has a run already, another replica decided about it and crashed. The later fires are then decided anew, because
 * the run says nothing about them.
 */
async function insertRuns({ runs, now, addRun }: JobWorkDeps, { tenant, job, decision }: InsertRunsOptions): Promise<InsertedRuns> {
  const own = runs.for({ tenant });
  const toRun = (firedAt: number): RunDocument => newRun(job, `${job.jobId}@${firedAt}`, firedAt);
  for (const [index, { firedAt, reason }] of decision.skipped.entries()) {
    const skipped = { state: 'done', status: 'skipped', error: reason, finishedAt: now() } as const;
    if (await inserted(() => own.insert({ ...toRun(firedAt), ...skipped }))) counter('switchyard.cron.runs', { status: 'skipped' }).add(1);
    else if (index === 0) return { firedUntil: firedAt, fires: 1 };
  }
  if (decision.kind === 'skip') return { firedUntil: decision.firedUntil, fires: decision.skipped.length };
  await addRun(tenant, { job, run: toRun(decision.firedAt) });
  return { firedUntil: decision.firedAt, fires: decision.skipped.length + 1 };
}

interface InsertedRuns {
  firedUntil: number;
  fires: number;
}
