import type { CallResult } from '@switchyard/client';
import { getNumber, getText } from '../../arguments/flags.ts';
import type { CommandContext } from '../../arguments/command-group.ts';
import { wrongUsage } from '../../output/failure.ts';
import { oneLine, print, printAs, remark, table } from '../../output/output.ts';
import { minute, second } from '../../output/times.ts';
import { self } from '../../server/installation.ts';

type Job = CallResult<'cron.list'>['jobs'][number];
type Run = CallResult<'cron.runs'>['runs'][number];

export async function listJobs({ call, flags, output }: CommandContext): Promise<void> {
  const answer = await call('cron.list', getText(flags, 'agent', 'agentId'));
  if (output !== 'table') return printAs(output, answer);
  if (answer.jobs.length === 0) return remark(`No jobs. Add one: ${self()} cron add --help`);
  print(table(['JOB', 'AGENT', 'SCHEDULE', 'NEXT RUN (UTC)', 'STATE'], answer.jobs.map(toLine)));
}

function toLine(job: Job): string[] {
  const { name, agentId = '', nextRunAtMs, enabled, consecutiveErrors = 0, pausedReason } = job;
  const paused = pausedReason === undefined ? 'paused' : `paused: ${oneLine(pausedReason)}`;
  const state = consecutiveErrors === 0 ? 'active' : `${consecutiveErrors} errors in a row`;
  return [name, agentId, describeSchedule(job), nextRunAtMs === null ? '-' : minute(nextRunAtMs), enabled ? state : paused];
}

function describeSchedule({ expr, tz, everyMs, at }: Job): string {
  if (expr !== undefined) return tz === undefined ? expr : `${expr} ${tz}`;
  return everyMs === undefined ? `once ${at === undefined ? '' : minute(at)}` : `every ${everyMs / 1_000} s`;
}

export async function showNext({ call, flags, output }: CommandContext, name?: string): Promise<void> {
  const { cron: expr } = flags;
  if ((name === undefined) === (expr === undefined))
    throw wrongUsage('cron next needs either the name of a job or --cron.', `${self()} cron next --help`);
  const count = getNumber(flags, 'count', 'count');
  const answer =
    name === undefined
      ? await call('cron.next', { schedule: { kind: 'cron', expr: expr ?? '', ...getText(flags, 'tz', 'tz') }, ...count })
      : await call('cron.next', { name, ...count, ...getText(flags, 'agent', 'agentId') });
  if (output !== 'table') printAs(output, answer);
  else if (answer.fires.length === 0) remark('It will not fire again.');
  else print(answer.fires.map(({ at }) => `${at}\n`).join(''));
}

export async function listRuns({ call, flags, output }: CommandContext, name: string): Promise<void> {
  const answer = await call('cron.runs', { name, ...getNumber(flags, 'limit', 'limit'), ...getText(flags, 'agent', 'agentId') });
  if (output !== 'table') return printAs(output, answer);
  if (answer.runs.length === 0) return remark(`No run has ended. The next fires: ${self()} cron next ${name}`);
  print(table(['DUE (UTC)', 'STATUS', 'SECONDS', 'TOKENS', 'TOOLS', 'RESULT'], answer.runs.map(toRunLine)));
}

function toRunLine({ runAt, status = 'ok', durationMs, totalTokens, toolCalls, failedTools, error, summary = '' }: Run): string[] {
  const failed = failedTools === undefined ? '' : ` (failed: ${failedTools.join(', ')})`;
  const tools = toolCalls === undefined ? '' : `${toolCalls}${failed}`;
  return [second(runAt), status, (durationMs / 1_000).toFixed(1), String(totalTokens ?? ''), tools, oneLine(error ?? summary)];
}
