import type { Result } from '@switchyard/contracts';
import { isRunQueued, type RunDocument } from './run-document.ts';

type Row = Result<'subagent.list'>['runs'][number];

/** Characters of a task in a list. */
const MAX_TASK_CHARS = 2_000;

/** Returns a run as lists show it. */
export function toRow(run: RunDocument, now: number): Row {
  const { runId, agentId, task, sessionKey, depth, createdAt, startedAt = createdAt, finishedAt, endReason, error, tokens, costUsd } = run;
  return {
    runId,
    agentId,
    task: task.slice(0, MAX_TASK_CHARS).toWellFormed(),
    status: getStatus(run),
    depth,
    sessionKey,
    startedAt,
    durationMs: Math.max(0, (finishedAt ?? now) - startedAt),
    callerSessionKey: run.parentKey,
    ...(endReason === undefined ? {} : { endReason }),
    ...(tokens && { tokensUsed: tokens }),
    ...(costUsd === undefined ? {} : { cost: { total: costUsd } }),
    ...(error === undefined ? {} : { error }),
  };
}

function getStatus(run: RunDocument): Row['status'] {
  if (run.endReason === 'completed') return 'completed';
  if (run.endReason !== undefined) return 'failed';
  return isRunQueued(run) ? 'queued' : 'running';
}

/** Returns a run with its result. */
export function toRunStatus(run: RunDocument, { now, response }: { now: number; response: string }): Result<'session.run_status'> {
  const { durationMs, ...row } = toRow(run, now);
  const { createdAt, finishedAt, finishReason, stepsExecuted } = run;
  return {
    ...row,
    task: run.task,
    runtimeMs: durationMs,
    queuedAt: createdAt,
    ...(finishedAt === undefined ? {} : { completedAt: finishedAt }),
    ...(response === '' ? {} : { response }),
    ...(finishReason === undefined ? {} : { finishReason }),
    ...(stepsExecuted === undefined ? {} : { stepsExecuted }),
  };
}
