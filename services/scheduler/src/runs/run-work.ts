import type { Bus } from '@switchyard/bus';
import { ServiceError, type Principal, type StoredPrincipal, type TurnEndRecord } from '@switchyard/contracts';
import type { Collection, OutboxEvent } from '@switchyard/store';
import { createWork, type Lease, type Outcome, type Work } from '@switchyard/work';
import type { JobDocument, RunDocument } from '../documents/collections.ts';

const MAX_CONCURRENT_RUNS = 64;
const MAX_ATTEMPTS = 20;
/** Delay before an order that failed for a passing reason is repeated. */
const ORDER_RETRY_MS = 2_000;
/** A run that could not be ordered for this long has failed. */
const ORDER_TIMEOUT_MS = 3_600_000;
/** A run whose wake-up was lost asks for the end of its turn after this time. */
const TURN_POLL_INTERVAL_MS = 15_000;
const SUMMARY_CHARS = 16_384;
const ERROR_CHARS = 2_048;

export interface RunWorkDeps {
  jobs: Collection<JobDocument>;
  runs: Collection<RunDocument>;
  bus: Bus;
  owner: string;
  now: () => number;
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
    poison: { maxAttempts: MAX_ATTEMPTS, outcome: (run) => failedOutcome(deps, run, 'the run failed too often; see the log') },
  });
}

async function orderTurn(deps: RunWorkDeps, lease: Lease<RunDocument>): Promise<Outcome<RunDocument>> {
  const { document: run, tenant } = lease;
  const job = await deps.jobs.for({ tenant }).get(run.jobId);
  if (!job) return { end: 'cancelled', set: { status: 'skipped', error: 'the job was removed', finishedAt: deps.now() } };
  if (!lease.isHeld()) return { parkUntil: deps.now() };
  const order = await sendOrder(deps.bus.as(toPrincipal(tenant, run.principal)), run, job);
  if ('turnId' in order) {
    const startedAt = deps.now();
    const { jobId, jobName, agentId } = run;
    await lease.write({
      set: { turnId: order.turnId, turnPending: true, startedAt },
      emit: [{ name: 'scheduler:job_started', payload: { jobId, jobName, agentId, timestamp: startedAt } }],
    });
    return { parkUntil: startedAt + TURN_POLL_INTERVAL_MS };
  }
  const { error } = order;
  const late = deps.now() - run.runAt > ORDER_TIMEOUT_MS;
  if (error.retryable && !late) return { parkUntil: deps.now() + (error.details.retryAfterMs ?? ORDER_RETRY_MS) };
  return finish(deps, lease, { status: 'error', error: error.message });
}

/** Orders the turn of a run. The key is that of the run, so that a repeated order returns the same turn. */
async function sendOrder(bus: Bus, run: RunDocument, job: JobDocument): Promise<{ turnId: string } | { error: ServiceError }> {
  try {
    return await bus.call('turns.order', {
      message: job.message,
      agentId: run.agentId,
      session: { userId: `cron:${run.jobId}`, threadId: run.runId.slice(run.jobId.length + 1), agentId: run.agentId },
      idempotencyKey: run.runId,
      kind: 'cron',
      origin: { service: 'scheduler', ref: run.runId },
      history: { mode: 'fresh' },
    });
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const { reason, turnId } = error.details;
    // The job was changed after an earlier order of this run.
    return reason === 'IDEMPOTENCY_MISMATCH' && turnId !== undefined ? { turnId } : { error };
  }
}

async function collectEnd(deps: RunWorkDeps, lease: Lease<RunDocument>, turnId: string): Promise<Outcome<RunDocument>> {
  const { document: run, tenant } = lease;
  const { turns } = await deps.bus.as(toPrincipal(tenant, run.principal)).call('turns.ends', { turnIds: [turnId] });
  const [turn] = turns;
  if (!turn) return finish(deps, lease, { status: 'error', error: 'the turn of this run no longer exists' });
  if (turn.state === 'queued' || turn.state === 'running') return { parkUntil: deps.now() + TURN_POLL_INTERVAL_MS };
  return finish(deps, lease, describeEnd(turn));
}

type RunEnd = Pick<RunDocument, 'error' | 'summary' | 'totalTokens' | 'costUsd' | 'llmCalls'> & { status: 'ok' | 'error' };

function describeEnd({ state, result, failure, usage, startedAt }: TurnEndRecord): RunEnd & Pick<RunDocument, 'startedAt'> {
  const spent = usage && { totalTokens: usage.input + usage.output, costUsd: usage.costUsd, llmCalls: usage.calls };
  const started = startedAt === undefined ? {} : { startedAt };
  if (state === 'done') return { ...spent, ...started, status: 'ok', summary: result?.response.slice(0, SUMMARY_CHARS) ?? '' };
  return { ...spent, ...started, status: 'error', error: failure?.message ?? `the turn was ${state}` };
}

/** Counts the end at the job and then ends the run. After a crash in between, the end is not counted again. */
async function finish(
  deps: RunWorkDeps,
  { document: run, tenant }: Lease<RunDocument>,
  end: RunEnd & Pick<RunDocument, 'startedAt'>,
): Promise<Outcome<RunDocument>> {
  const { jobId, runId } = run;
  const error = end.error?.slice(0, ERROR_CHARS);
  const counted = { lastRunAt: run.runAt, countedRunId: runId };
  await deps.jobs
    .for({ tenant })
    .update(
      { jobId, countedRunId: { ne: runId } },
      error === undefined
        ? { set: { ...counted, consecutiveErrors: 0 }, unset: ['lastError'] }
        : { set: { ...counted, lastError: error }, inc: { consecutiveErrors: 1 } },
    );
  const finishedAt = deps.now();
  const ended = { ...run, ...end, finishedAt };
  return {
    end: end.status === 'ok' ? 'done' : 'failed',
    set: { ...end, ...(error === undefined ? {} : { error }), turnPending: undefined, finishedAt },
    emit: [completedEvent(ended)],
  };
}

function failedOutcome({ now }: RunWorkDeps, run: RunDocument, error: string): Outcome<RunDocument> {
  const finishedAt = now();
  const set = { status: 'error' as const, error, turnPending: undefined, finishedAt };
  return { end: 'failed', set, emit: [completedEvent({ ...run, ...set })] };
}

function completedEvent(run: RunDocument): OutboxEvent {
  const { jobId, jobName, agentId, status, error, finishedAt: timestamp = 0 } = run;
  const payload = { jobId, jobName, agentId, durationMs: getDurationMs(run), success: status === 'ok', ...(error && { error }), timestamp };
  return { name: 'scheduler:job_completed', payload };
}

/** Returns how long the turn of a run took; 0 for a run without a turn. */
export function getDurationMs({ startedAt, finishedAt }: RunDocument): number {
  return startedAt === undefined || finishedAt === undefined ? 0 : Math.max(finishedAt - startedAt, 0);
}

export function toPrincipal(tenant: string, stored: StoredPrincipal): Principal {
  const { client, scopes, sessions, agents, budgets } = stored;
  const restrictions = { ...(sessions === 'own' && { sessions }), ...(agents && { agents }), ...(budgets && { budgets }) };
  return { tenant, client, scopes, ...restrictions };
}
