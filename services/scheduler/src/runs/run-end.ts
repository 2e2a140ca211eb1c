import { counter } from '@switchyard/telemetry';
import type { TurnEndRecord } from '@switchyard/contracts';
import type { Collection, OutboxEvent } from '@switchyard/store';
import type { Outcome } from '@switchyard/work';
import type { JobDocument, RunDocument } from '../documents/collections.ts';
import { addDuration, getMedian, SLOW_RUN_FACTOR } from './run-durations.ts';

/** Delay before the next fire after the first, second, … consecutive error. */
export const BACKOFF_MS = [30_000, 60_000, 300_000, 900_000, 3_600_000] as const;
const SUMMARY_CHARS = 16_384;
/** Fires without a successful run after which the job is reported as an error, once. */
const MAX_FIRES_WITHOUT_SUCCESS = 3;
const ERROR_CHARS = 2_048;

/** How a run ended. A run is skipped if it was not allowed to order its turn, or if the turn was cancelled. */
export type RunEnd = Pick<RunDocument, 'error' | 'summary' | 'startedAt' | 'delivery' | RunCosts> & { status: 'ok' | 'error' | 'skipped' };
type RunCosts = 'totalTokens' | 'costUsd' | 'llmCalls' | 'toolCalls' | 'failedTools';

export interface FinishRunDeps {
  jobs: Collection<JobDocument>;
  now: () => number;
  /** Consecutive errors after which a job is suspended; 0 never suspends. */
  maxConsecutiveErrors: (tenant: string, agentId: string) => number;
  /** Makes a job compute its next fire again. */
  wakeJob: (tenant: string, jobId: string) => void;
  log: { warn(fields: object, message: string): void };
}

/** Translates the end of a turn into the end of its run. */
export function describeTurnEnd({ state, result, failure, usage, tools, startedAt }: TurnEndRecord): RunEnd {
  const spent = {
    ...(usage && { totalTokens: usage.input + usage.output, costUsd: usage.costUsd, llmCalls: usage.calls }),
    ...(tools && { toolCalls: tools.calls, ...(tools.failed.length > 0 ? { failedTools: tools.failed } : {}) }),
  };
  const started = startedAt === undefined ? {} : { startedAt };
  if (state === 'done') return { ...spent, ...started, status: 'ok', summary: result?.response.slice(0, SUMMARY_CHARS) ?? '' };
  const status = state === 'cancelled' ? 'skipped' : 'error';
  return { ...spent, ...started, status, error: failure?.message ?? `the turn was ${state}` };
}

/** Counts the end at the job and then ends the run. After a crash in between, the end is not counted again. */
export async function finishRun(deps: FinishRunDeps, tenant: string, run: RunDocument, end: RunEnd): Promise<Outcome<RunDocument>> {
  const error = end.error?.slice(0, ERROR_CHARS);
  const finishedAt = deps.now();
  const durationMs = getDurationMs({ ...run, ...end, finishedAt });
  if (end.status !== 'skipped') await countEnd(deps, { tenant, run, error, finishedAt, durationMs });
  counter('switchyard.cron.runs', { status: end.status }).add(1);
  const set = { ...end, ...(error === undefined ? {} : { error }), turnPending: undefined, finishedAt };
  const emit = run.turnId === undefined ? {} : { emit: [completedEvent({ ...run, ...set })] };
  if (end.status === 'skipped') return { end: 'cancelled', set, ...emit };
  return { end: end.status === 'ok' ? 'done' : 'failed', set, emit: [completedEvent({ ...run, ...set })] };
}

interface SlowRun {
  runId: string;
  durationMs: number;
}

interface CountEndOptions {
  tenant: string;
  run: RunDocument;
  error: string | undefined;
  finishedAt: number;
  durationMs: number;
}

async function countEnd(deps: FinishRunDeps, { tenant, run, error, finishedAt, durationMs }: CountEndOptions): Promise<void> {
  const { runId, jobId, runAt: lastRunAt } = run;
  const documents = deps.jobs.for({ tenant });
  // Another end may be counted between the read and the write, so the write is guarded and repeated.
  for (;;) {
    const job = await documents.get(jobId);
    if (!job || job.countedRunId === runId) return;
    const counted = { lastRunAt, countedRunId: runId };
    const guard = { jobId, consecutiveErrors: job.consecutiveErrors, countedRunId: job.countedRunId ?? null };
    const change =
      error === undefined
        ? { set: { ...counted, ...countSuccess(job, durationMs) } }
        : countError(deps.maxConsecutiveErrors(tenant, job.agentId), job, { ...counted, lastError: error }, finishedAt);
    if (!(await documents.update(guard, change))) continue;
    if (error !== undefined) deps.wakeJob(tenant, jobId);
    else logSlowRun(deps, job, { runId, durationMs });
    return;
  }
}

function countSuccess({ durations }: JobDocument, durationMs: number): Partial<JobDocument> {
  return {
    consecutiveErrors: 0,
    lastError: undefined,
    backoffUntil: undefined,
    firesSinceSuccess: 0,
    durations: addDuration(durations, durationMs),
  };
}

function logSlowRun({ log }: FinishRunDeps, { jobId, name: jobName, agentId, durations }: JobDocument, run: SlowRun): void {
  const medianMs = getMedian(durations ?? []);
  if (medianMs === undefined || run.durationMs <= SLOW_RUN_FACTOR * medianMs) return;
  const fields = { ...run, jobId, jobName, agentId, medianMs, hint: 'compare the trace of its turn with that of an earlier run' };
  log.warn(fields, 'a run of a job took more than three times as long as its runs usually do');
}

/** Returns the change that counts fires of a job, and the event of a job that has had too many without a successful run. */
export function countFires({ jobId, name, agentId, firesSinceSuccess }: JobDocument, fires: number) {
  const total = firesSinceSuccess + fires;
  const isStale = firesSinceSuccess < MAX_FIRES_WITHOUT_SUCCESS && total >= MAX_FIRES_WITHOUT_SUCCESS;
  const message = `The job ${name} (${jobId}) of agent ${agentId} has had ${total} fires without a successful run. See cron.runs.`;
  const event: OutboxEvent = {
    name: 'system:error',
    payload: { error: { message, errorKind: 'job_without_success' }, source: 'scheduler' },
  };
  return { inc: { firesSinceSuccess: fires }, ...(isStale ? { emit: [event] } : {}) };
}

function countError(limit: number, job: JobDocument, counted: Partial<JobDocument> & { lastError: string }, now: number) {
  const consecutiveErrors = job.consecutiveErrors + 1;
  const set = { ...counted, consecutiveErrors, backoffUntil: now + (BACKOFF_MS[consecutiveErrors - 1] ?? BACKOFF_MS[4]) };
  if (limit === 0 || consecutiveErrors < limit || !job.enabled) return { set };
  return suspendJob(job, `${consecutiveErrors} errors in a row; the last: ${counted.lastError}`, now, set);
}

/** Returns the change that suspends a job, with its event. */
export function suspendJob(job: JobDocument, text: string, timestamp: number, set: Partial<JobDocument> = {}) {
  const { jobId, name: jobName, agentId } = job;
  const reason = text.slice(0, ERROR_CHARS);
  const event: OutboxEvent = { name: 'scheduler:job_suspended', payload: { jobId, jobName, agentId, reason, timestamp } };
  return { set: { ...set, enabled: false, pausedReason: reason }, inc: { revision: 1 }, emit: [event] };
}

export function completedEvent(run: RunDocument): OutboxEvent {
  const { jobId, jobName, agentId, status, error, finishedAt: timestamp = 0 } = run;
  const payload = { jobId, jobName, agentId, durationMs: getDurationMs(run), success: status === 'ok', ...(error && { error }), timestamp };
  return { name: 'scheduler:job_completed', payload };
}

/** Returns how long the turn of a run took; 0 for a run without a turn. */
export function getDurationMs({ startedAt, finishedAt }: Pick<RunDocument, 'startedAt' | 'finishedAt'>): number {
  return startedAt === undefined || finishedAt === undefined ? 0 : Math.max(finishedAt - startedAt, 0);
}
