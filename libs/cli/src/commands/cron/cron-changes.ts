import type { CallParams } from '@switchyard/client';
import { confirm } from '../../arguments/confirmation.ts';
import { getText } from '../../arguments/flags.ts';
import type { CommandContext } from '../../arguments/command-group.ts';
import { wrongUsage } from '../../output/failure.ts';
import { print, printAs } from '../../output/output.ts';
import { minute } from '../../output/times.ts';
import { quote, self } from '../../server/installation.ts';

type Schedule = CallParams<'cron.add'>['schedule'];

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export async function addJob({ call, flags, output }: CommandContext, name: string): Promise<void> {
  const { message } = flags;
  if (message === undefined) throw wrongUsage('cron add needs --message.', `${self()} cron add --help`);
  const answer = await call('cron.add', { name, message, schedule: readSchedule(flags), ...getText(flags, 'agent', 'agentId') });
  if (output !== 'table') printAs(output, answer);
  else print(`Added ${name}. ${describeNext(answer.nextRunAtMs)}\n`);
}

/** Reads the flag that says when a job fires. */
function readSchedule(flags: CommandContext['flags']): Schedule {
  const { cron, every, at, tz } = flags;
  const zone = tz === undefined ? {} : { tz };
  if ([cron, every, at].filter((flag) => flag !== undefined).length !== 1)
    throw wrongUsage('cron add needs exactly one of --cron, --every and --at.', `${self()} cron add --help`);
  if (cron !== undefined) return { kind: 'cron', expr: cron, ...zone };
  if (every !== undefined) return { kind: 'interval', everyMs: readDuration(every) };
  return { kind: 'once', at: at ?? '', ...zone };
}

function readDuration(text: string): number {
  const [, count, unit = ''] = /^([0-9]{1,6})([smhd])$/.exec(text) ?? [];
  if (count === undefined) throw wrongUsage(`--every must be a time such as 10s, 15m, 6h or 1d, not ${text}.`, `${self()} cron add --help`);
  return Number(count) * (UNITS_MS[unit] ?? 0);
}

function describeNext(nextRunAtMs: number | null): string {
  return nextRunAtMs === null ? 'It will not fire again.' : `Next run: ${minute(nextRunAtMs)} UTC.`;
}

export async function pauseJob({ call, flags, output }: CommandContext, name: string): Promise<void> {
  const reason = getText(flags, 'reason', 'pausedReason');
  const answer = await call('cron.update', { name, enabled: false, ...reason, ...getText(flags, 'agent', 'agentId') });
  if (output !== 'table') printAs(output, answer);
  else print(`Paused ${name}. Resume it: ${self()} cron resume ${quote(name)}\n`);
}

export async function resumeJob({ call, flags, output }: CommandContext, name: string): Promise<void> {
  const answer = await call('cron.update', { name, enabled: true, ...getText(flags, 'agent', 'agentId') });
  if (output !== 'table') printAs(output, answer);
  else print(`Resumed ${name}. ${describeNext(answer.nextRunAtMs)}\n`);
}

export async function runJob({ call, flags, output }: CommandContext, name: string): Promise<void> {
  const answer = await call('cron.run', { name, ...getText(flags, 'agent', 'agentId') });
  if (output !== 'table') printAs(output, answer);
  else print(`Started ${name}. Its result: ${self()} cron runs ${quote(name)}\n`);
}

export async function removeJob({ call, flags, output }: CommandContext, name: string): Promise<void> {
  await confirm(`This deletes the job ${name}.`, flags, `${self()} cron pause ${quote(name)}`);
  const answer = await call('cron.remove', { name, ...getText(flags, 'agent', 'agentId') });
  if (output !== 'table') printAs(output, answer);
  else print(`${name} is removed\n`);
}
