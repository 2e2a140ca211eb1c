import type { Bus } from '@switchyard/bus';
import { MAX, ServiceError, type StoredPrincipal } from '@switchyard/contracts';
import { findLostRights, toPrincipal } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import { createWork, type Lease, type Outcome, type Work } from '@switchyard/work';
import type { JobDocument, RunDocument } from '../documents/collections.ts';
import { completedEvent, describeTurnEnd, finishRun, suspendJob, type FinishRunDeps, type RunEnd } from './run-end.ts';

const MAX_CONCURRENT_RUNS = 64;
const MAX_ATTEMPTS = 20;
/** Delay before an order that failed for a passing reason is repeated. */
const ORDER_RETRY_MS = 2_000;
/** A run that could not be ordered for this long has failed. */
const ORDER_TIMEOUT_MS = 3_600_000;
/** A run whose wake-up was lost asks for the end of its turn after this time. */
const TURN_POLL_INTERVAL_MS = 15_000;
/** Interval at which a queued run looks for the end of the earlier run. */
const QUEUE_POLL_INTERVAL_MS = 1_000;
const OPEN_STATES = ['queued', 'running', 'parked'] as const;

export interface RunWorkDeps extends FinishRunDeps {
  jobs: Collection<JobDocument>;
  runs: Collection<RunDocument>;
  bus: Bus;
  owner: string;
  log: { warn(fields: object, message: string): void };
}

/** Orders the turn of each run and records how it ended. While the turn runs, the run is parked and no process holds it. */
export function createRunWork(deps: RunWorkDeps): Work<RunDocument> {
  const { runs, owner, now, log } = deps;
  return createWork<RunDocument>({
    documents: runs,
    owner,
    now,
    log,
    capacity: () => MAX_CONCURRENT_RUNS,
    run: (lease) => (lease.document.turnId === undefined ? orderTurn(deps, lease) : collectEnd(deps, lease, lease.document.turnId)),
    poison: {
      maxAttempts: MAX_ATTEMPTS,
      outcome: (run) => {
        const set = { status: 'error' as const, error: 'the run failed too often; see the log', turnPending: undefined, finishedAt: now() };
        return { end: 'failed', set, emit: [completedEvent({ ...run, ...set })] };
      },
    },
  });
}

async function orderTurn(deps: RunWorkDeps, lease: Lease<RunDocument>): Promise<Outcome<RunDocument>> {
  const { document: run, tenant } = lease;
  const job = await deps.jobs.for({ tenant }).get(run.jobId);
  if (!job) return finishRun(deps, tenant, run, { status: 'skipped', error: 'the job was removed' });
  if (job.overlap === 'cancel' && (await hasLaterRun(deps, tenant, run))) return finishRun(deps, tenant, run, replacedRun());
  try {
    if (await waitsForEarlierRun(deps, tenant, { job, run })) return { parkUntil: deps.now() + QUEUE_POLL_INTERVAL_MS };
    const lost = await findLostRights(deps.bus, { service: 'scheduler', tenant, principal: run.principal, action: 'made this job' });
    if (lost !== undefined) return await suspend(deps, { tenant, job, run, reason: lost });
    if (!lease.isHeld()) return { parkUntil: deps.now() };
    const turnId = await sendOrder(deps.bus.as(toPrincipal(tenant, run.principal)), run, job);
    return await recordTurn(deps, lease, turnId);
  } catch (error) {
    if (!(error instanceof ServiceError) || lease.signal.aborted) throw error;
    const late = deps.now() - run.runAt > ORDER_TIMEOUT_MS;
    if (error.retryable && !late) return { parkUntil: deps.now() + (error.details.retryAfterMs ?? ORDER_RETRY_MS) };
    return finishRun(deps, tenant, run, { status: 'error', error: error.message });
  }
}

async function recordTurn({ now }: RunWorkDeps, lease: Lease<RunDocument>, turnId: string): Promise<Outcome<RunDocument>> {
  const { jobId, jobName, agentId } = lease.document;
  const startedAt = now();
  await lease.write({
    set: { turnId, turnPending: true, startedAt },
    emit: [{ name: 'scheduler:job_started', payload: { jobId, jobName, agentId, timestamp: startedAt } }],
  });
  return { parkUntil: startedAt + TURN_POLL_INTERVAL_MS };
}

/** Whether a run has to wait because of the overlap policy of its job. With `cancel` the turns of earlier runs are cancelled. */
async function waitsForEarlierRun(
  { runs, bus }: RunWorkDeps,
  tenant: string,
  { job: { overlap }, run: { jobId, runId, runAt } }: { job: JobDocument; run: RunDocument },
): Promise<boolean> {
  if (overlap !== 'queue' && overlap !== 'cancel') return false;
  const earlier = { jobId, state: { in: OPEN_STATES }, runAt: { lt: runAt }, runId: { ne: runId } };
  if (overlap === 'queue') return (await runs.for({ tenant }).count(earlier)) > 0;
  const { items } = await runs.for({ tenant }).find(earlier, { limit: MAX.few });
  for (const { turnId, principal } of items)
    if (turnId !== undefined) await bus.as(toPrincipal(tenant, principal)).call('turns.cancel', { turnId });
  return items.length > 0;
}

async function hasLaterRun({ runs }: RunWorkDeps, tenant: string, { jobId, runAt }: RunDocument): Promise<boolean> {
  return (await runs.for({ tenant }).count({ jobId, state: { in: OPEN_STATES }, runAt: { gt: runAt } })) > 0;
}

function replacedRun(): RunEnd {
  return { status: 'skipped', error: 'a later fire of this job cancelled this run, and its overlap is cancel' };
}

interface SuspendOptions {
  tenant: string;
  job: JobDocument;
  run: RunDocument;
  reason: string;
}

async function suspend(deps: RunWorkDeps, { tenant, job, run, reason }: SuspendOptions): Promise<Outcome<RunDocument>> {
  const { jobId } = job;
  await deps.jobs.for({ tenant }).update({ jobId, enabled: true }, suspendJob(job, reason, deps.now()));
  deps.wakeJob(tenant, jobId);
  return finishRun(deps, tenant, run, { status: 'skipped', error: reason });
}

/** Orders the turn of a run and returns its id. The key is that of the run, so that a repeated order returns the same turn. */
async function sendOrder(bus: Bus, run: RunDocument, job: JobDocument): Promise<string> {
  const { agentId, jobId, runId } = run;
  const { message, model, timeoutSeconds, sessionStrategy } = job;
  const threadId = sessionStrategy === 'fresh' ? runId.slice(jobId.length + 1) : undefined;
  try {
    const { turnId } = await bus.call('turns.order', {
      message,
      agentId,
      session: { userId: `cron:${jobId}`, agentId, ...(threadId && { threadId }) },
      idempotencyKey: runId,
      kind: 'cron',
      origin: { service: 'scheduler', ref: runId },
      history: { mode: sessionStrategy },
      ...(model === undefined ? {} : { model }),
      ...(timeoutSeconds === undefined ? {} : { timeoutMs: timeoutSeconds * 1_000 }),
    });
    return turnId;
  } catch (error) {
    // The job was changed after an earlier order of this run.
    const { reason, turnId } = error instanceof ServiceError ? error.details : {};
    if (reason === 'IDEMPOTENCY_MISMATCH' && turnId !== undefined) return turnId;
    throw error;
  }
}

async function collectEnd(deps: RunWorkDeps, { document: run, tenant }: Lease<RunDocument>, turnId: string): Promise<Outcome<RunDocument>> {
  const [turn] = await readTurns(deps.bus, tenant, run.principal, [turnId]);
  if (!turn) return finishRun(deps, tenant, run, { status: 'error', error: 'the turn of this run no longer exists' });
  if (turn.state === 'queued' || turn.state === 'running') return { parkUntil: deps.now() + TURN_POLL_INTERVAL_MS };
  const end = describeTurnEnd(turn);
  const replaced = turn.state === 'cancelled' && (await hasLaterRun(deps, tenant, run));
  return finishRun(deps, tenant, run, replaced ? { ...end, ...replacedRun() } : end);
}

async function readTurns(bus: Bus, tenant: string, principal: StoredPrincipal, turnIds: string[]) {
  return (await bus.as(toPrincipal(tenant, principal)).call('turns.ends', { turnIds })).turns;
}
