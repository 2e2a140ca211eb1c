import type { Handler } from '@switchyard/bus';
import type { CronRun } from '@switchyard/contracts';
import type { RunDocument } from '../documents/collections.ts';
import { findJob } from '../jobs/job-lookup.ts';
import { getDurationMs } from '../runs/run-end.ts';
import type { HandlerDeps } from './handler-deps.ts';

/** Characters of all summaries of a page together, so that the page fits one message. */
const PAGE_SUMMARY_CHARS = 2_000_000;

/** Lists the ended runs of a job, newest first. */
export function cronRuns({ jobs, runs }: HandlerDeps): Handler<'cron.runs'> {
  return async ({ limit, ...params }, { principal }) => {
    const { jobId } = await findJob(jobs, principal, params);
    const { items } = await runs.for(principal).find({ jobId, status: { exists: true } }, { sort: [['runAt', 'desc']], limit });
    const summaryChars = Math.floor(PAGE_SUMMARY_CHARS / Math.max(items.length, 1));
    return { runs: items.map((run) => toRun(run, summaryChars)) };
  };
}

function toRun(run: RunDocument, summaryChars: number): CronRun {
  const { runAt, startedAt, status, error, summary, totalTokens, costUsd, llmCalls, toolCalls, failedTools, delivery } = run;
  return {
    runAt,
    ...(startedAt === undefined ? {} : { startedAtMs: startedAt }),
    durationMs: getDurationMs(run),
    success: status === 'ok',
    ...(status && { status }),
    ...(error === undefined ? {} : { error }),
    ...(summary === undefined ? {} : { summary: summary.slice(0, summaryChars) }),
    ...(totalTokens === undefined ? {} : { totalTokens }),
    ...(costUsd === undefined ? {} : { costUsd }),
    ...(delivery === undefined ? {} : { delivery }),
    ...(llmCalls === undefined ? {} : { llmCalls }),
    ...(toolCalls === undefined ? {} : { toolCalls }),
    ...(failedTools === undefined ? {} : { failedTools }),
  };
}
