import type { Bus } from '@switchyard/bus';
import { ServiceError, type StoredPrincipal } from '@switchyard/contracts';
import { findLostRights, toPrincipal, type Agent, type AgentDirectory, type Clock } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import { histogram } from '@switchyard/telemetry';
import { createWork, type Lease, type Outcome, type RoomDocument, type Work } from '@switchyard/work';
import type { JobDocument, RunDocument } from '../documents/collections.ts';
import { deliverResult } from './run-delivery.ts';
import { completedEvent, describeTurnEnd, finishRun, suspendJob, type FinishRunDeps } from './run-end.ts';
import { cancelTurn, hasLaterRun, replacedRun, waitsForEarlierRun } from './run-overlap.ts';
import { recordSuspension } from './suspension-audit.ts';

const MAX_CONCURRENT_RUNS = 64;
const MAX_ATTEMPTS = 20;
/** Attempts to cancel the turn of a run that failed too often. */
const MAX_CANCEL_ATTEMPTS = 20;
const FAILED_TOO_OFTEN = { status: 'error', error: 'the run failed too often; see the log' } as const;
/** Delay before an order that failed for a passing reason is repeated. */
const ORDER_RETRY_MS = 2_000;
/** A run that could not be ordered for this long has failed. */
const ORDER_TIMEOUT_MS = 3_600_000;
/** A delivery that the channels service did not accept for this long has failed. */
const DELIVERY_TIMEOUT_MS = 600_000;
/** A run whose wake-up was lost asks for the end of its turn after this time. */
const TURN_POLL_INTERVAL_MS = 15_000;
/** Duration of a run without `timeoutSeconds`, unless `operationModels.cron.timeout` of its agent says otherwise. */
const DEFAULT_TIMEOUT_MS = 150_000;
/** Interval at which a queued run looks for the end of the earlier run. */
const QUEUE_POLL_INTERVAL_MS = 1_000;
/** Tools of a run, if its agent has them. */
const CRON_TOOLS = { profile: 'cron-minimal' } as const;

export interface RunWorkDeps extends FinishRunDeps {
  jobs: Collection<JobDocument>;
  runs: Collection<RunDocument>;
  rooms: Collection<RoomDocument>;
  agents: Pick<AgentDirectory, 'find'>;
  bus: Bus;
  owner: string;
  clock?: Clock;
  /** Runs of an agent at once, over all replicas: the setting `cron.maxConcurrentRuns`. */
  maxConcurrentRuns: (tenant: string, agentId: string) => number;
}

/**
 * Orders the turn of each run and records how it ended. A run holds a slot of its agent from the order to the end of the turn; agents take
 * turns. While the turn runs, the run is parked and no process holds it.
 */
export function createRunWork(deps: RunWorkDeps): Work<RunDocument> {
  const { runs, rooms, owner, now, log } = deps;
  return createWork<RunDocument>({
    documents: runs,
    rooms: { documents: rooms, resolve: ({ agentId }, tenant) => ({ key: agentId, max: deps.maxConcurrentRuns(tenant, agentId) }) },
    owner,
    now,
    log,
    ...(deps.clock ? { clock: deps.clock } : {}),
    capacity: () => MAX_CONCURRENT_RUNS,
    run: (lease) => runOnce(deps, lease),
    poison: {
      maxAttempts: MAX_ATTEMPTS + MAX_CANCEL_ATTEMPTS,
      outcome: (run) => {
        const set = { ...FAILED_TOO_OFTEN, turnPending: undefined, finishedAt: now() };
        return { end: 'failed', set, emit: [completedEvent({ ...run, ...set })] };
      },
    },
  });
}

async function runOnce(deps: RunWorkDeps, lease: Lease<RunDocument>): Promise<Outcome<RunDocument>> {
  const { document: run, tenant } = lease;
  if (run.attempts > MAX_ATTEMPTS) {
    // Otherwise the turn would run on without a slot, beside that of the next run.
    await cancelTurn(deps, tenant, run);
    return finishRun(deps, tenant, run, FAILED_TOO_OFTEN);
  }
  return run.turnId === undefined ? orderTurn(deps, lease) : collectEnd(deps, lease, run.turnId);
}

async function orderTurn(deps: RunWorkDeps, lease: Lease<RunDocument>): Promise<Outcome<RunDocument>> {
  const { document: run, tenant } = lease;
  const job = await deps.jobs.for({ tenant }).get(run.jobId);
  if (!job) return finishRun(deps, tenant, run, { status: 'skipped', error: 'the job was removed' });
  if (job.overlap === 'cancel' && (await hasLaterRun(deps, tenant, run))) return finishRun(deps, tenant, run, replacedRun());
  let ordered: string;
  try {
    if (await waitsForEarlierRun(deps, tenant, { job, run })) return { parkUntil: deps.now() + QUEUE_POLL_INTERVAL_MS };
    const lost = await findLostRights(deps.bus, { service: 'scheduler', tenant, principal: run.principal, action: 'made this job' });
    if (lost !== undefined) return await suspend(deps, { tenant, job, run, reason: lost });
    if (!lease.isHeld()) return { parkUntil: deps.now() };
    ordered = await sendOrder(deps.bus.as(toPrincipal(tenant, run.principal)), { run, job, agent: deps.agents.find(tenant, run.agentId) });
    await recordTurn(deps, lease, ordered);
  } catch (error) {
    if (!(error instanceof ServiceError) || lease.signal.aborted) throw error;
    const late = deps.now() - run.runAt > ORDER_TIMEOUT_MS;
    // Only a refusal is sure to have started no turn. After any other failure the slot is kept, because the turn may run.
    const mayRun = error.code !== 'RESOURCE_EXHAUSTED';
    if (error.retryable && !late)
      return { parkUntil: deps.now() + (error.details.retryAfterMs ?? ORDER_RETRY_MS), ...(mayRun && { keepSlot: true }) };
    return finishRun(deps, tenant, run, { status: 'error', error: error.message });
  }
  // The turn may have ended before its id was stored, so that the sweep of its wake-up did not find it.
  return collectEnd(deps, lease, ordered);
}

async function recordTurn({ now }: RunWorkDeps, lease: Lease<RunDocument>, turnId: string): Promise<void> {
  const { jobId, jobName, agentId, runAt } = lease.document;
  const startedAt = now();
  await lease.write({
    set: { turnId, turnPending: true, startedAt },
    emit: [{ name: 'scheduler:job_started', payload: { jobId, jobName, agentId, timestamp: startedAt } }],
  });
  histogram('switchyard.cron.delay', {}).record(Math.max(startedAt - runAt, 0) / 1_000);
}

interface SuspendOptions {
  tenant: string;
  job: JobDocument;
  run: RunDocument;
  reason: string;
}

async function suspend(deps: RunWorkDeps, { tenant, job, run, reason }: SuspendOptions): Promise<Outcome<RunDocument>> {
  const { jobId } = job;
  await recordSuspension(deps, { tenant, job, run });
  await deps.jobs.for({ tenant }).update({ jobId, enabled: true }, suspendJob(job, reason, deps.now()));
  deps.wakeJob(tenant, jobId);
  return finishRun(deps, tenant, run, { status: 'skipped', error: reason });
}

interface SendOrderOptions {
  run: RunDocument;
  job: JobDocument;
  agent: Pick<Agent, 'config'> | undefined;
}

/** Orders the turn of a run and returns its id. The key is that of the run, so that a repeated order returns the same turn. */
async function sendOrder(bus: Bus, { run, job, agent }: SendOrderOptions): Promise<string> {
  const { agentId, jobId, runId } = run;
  const { message, timeoutSeconds, sessionStrategy, budget } = job;
  const operation = agent?.config.operationModels.cron;
  const model = job.model ?? operation?.model;
  const timeoutMs = timeoutSeconds === undefined ? (operation?.timeout ?? DEFAULT_TIMEOUT_MS) : timeoutSeconds * 1_000;
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
      tools: CRON_TOOLS,
      ...(budget === undefined ? {} : { limits: budget }),
      ...(model === undefined ? {} : { model }),
      timeoutMs,
    });
    return turnId;
  } catch (error) {
    // The job was changed after an earlier order of this run.
    const { reason, turnId } = error instanceof ServiceError ? error.details : {};
    if (reason === 'IDEMPOTENCY_MISMATCH' && turnId !== undefined) return turnId;
    throw error;
  }
}

async function collectEnd(deps: RunWorkDeps, lease: Lease<RunDocument>, turnId: string): Promise<Outcome<RunDocument>> {
  const { document: run, tenant } = lease;
  const [turn] = await readTurns(deps.bus, tenant, run.principal, [turnId]);
  if (!turn) return finishRun(deps, tenant, run, { status: 'error', error: 'the turn of this run no longer exists' });
  const job = await deps.jobs.for({ tenant }).get(run.jobId);
  if (turn.state === 'queued' || turn.state === 'running') {
    // A later run may wait for the slot of this one, so that it cannot cancel this run itself.
    const isReplaced = job?.overlap === 'cancel' && (await hasLaterRun(deps, tenant, run));
    if (isReplaced) await cancelTurn(deps, tenant, run);
    return { parkUntil: deps.now() + (isReplaced ? QUEUE_POLL_INTERVAL_MS : TURN_POLL_INTERVAL_MS), keepSlot: true };
  }
  const end = describeTurnEnd(turn);
  const replaced = turn.state === 'cancelled' && (await hasLaterRun(deps, tenant, run));
  if (end.status !== 'ok') return finishRun(deps, tenant, run, replaced ? { ...end, ...replacedRun() } : end);
  const deliverTo = job?.deliverTo;
  if (!deliverTo) return finishRun(deps, tenant, run, end);
  if (!lease.isHeld()) return { parkUntil: deps.now() };
  const text = turn.result?.response ?? '';
  try {
    const delivery = await deliverResult(deps.bus.as(toPrincipal(tenant, run.principal)), run, { deliverTo, text });
    return await finishRun(deps, tenant, run, { ...end, delivery });
  } catch (error) {
    const late = deps.now() - (turn.finishedAt ?? deps.now()) > DELIVERY_TIMEOUT_MS;
    if (!(error instanceof ServiceError) || !error.retryable || lease.signal.aborted) throw error;
    if (!late) return { parkUntil: deps.now() + (error.details.retryAfterMs ?? ORDER_RETRY_MS) };
    return finishRun(deps, tenant, run, { ...end, delivery: error.message });
  }
}

async function readTurns(bus: Bus, tenant: string, principal: StoredPrincipal, turnIds: string[]) {
  return (await bus.as(toPrincipal(tenant, principal)).call('turns.ends', { turnIds, countTools: true })).turns;
}
