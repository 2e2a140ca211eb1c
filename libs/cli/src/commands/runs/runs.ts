import type { CallResult } from '@switchyard/client';
import { group, type CommandContext } from '../../arguments/command-group.ts';
import { getText } from '../../arguments/flags.ts';
import { Failure, wrongUsage } from '../../output/failure.ts';
import { oneLine, print, printAs, remark, table } from '../../output/output.ts';
import { second } from '../../output/times.ts';
import { self } from '../../server/installation.ts';
import { arrangeTree } from './run-tree.ts';

/** Runs that are searched for the beginning of an id. */
const RECENT_MINUTES = 1_440;
const MAX_TASK_CHARS = 48;
const FULL_ID_CHARS = 'run_'.length + 22;

type Run = CallResult<'subagent.list'>['runs'][number];

export const runs = group({
  name: 'runs',
  about: 'Shows, steers and kills runs of sub-agents. An id may be shortened to a unique beginning.',
  otherwise: 'list',
  verbs: {
    list: { about: 'lists the runs of the last minutes as a tree', flags: ['minutes'], run: list },
    show: { takes: '<id>', about: 'shows one run with its result', run: show },
    steer: { takes: '<id>', about: 'adds a message to the conversation of a run', flags: ['message'], run: steer },
    kill: { takes: '<id>', about: 'stops a run and all runs below it', run: kill },
  },
  flags: {
    minutes: { value: 'n', about: 'list: age of the oldest run; 30 by default' },
    message: { value: 'text', about: 'steer: the message' },
  },
  examples: ['runs', 'runs steer run_4fT0 --message "Leave out the third offer."', 'runs kill run_4fT0'],
});

async function list({ call, flags, output }: CommandContext): Promise<void> {
  const { minutes } = getText(flags, 'minutes', 'minutes');
  const recentMinutes = minutes === undefined ? undefined : Number(minutes);
  if (recentMinutes !== undefined && !(recentMinutes >= 0))
    throw wrongUsage(`--minutes: expected a number of minutes, got ${minutes}.`, `${self()} runs list --minutes 60`);
  const found = await call('subagent.list', recentMinutes === undefined ? {} : { recentMinutes });
  if (output !== 'table') return printAs(output, found);
  if (found.runs.length === 0) return remark('No sub-agent has run in this time.');
  const lines = arrangeTree(found.runs).map(({ run, branch }) => [
    `${branch}${run.runId}`,
    run.status,
    run.agentId,
    second(run.startedAt),
    `${Math.round(run.durationMs / 1_000)} s`,
    oneLine(run.task).slice(0, MAX_TASK_CHARS),
  ]);
  print(table(['RUN', 'STATUS', 'AGENT', 'STARTED (UTC)', 'DURATION', 'TASK'], lines));
}

async function show({ call, output }: CommandContext, id: string): Promise<void> {
  printAs(output === 'table' ? 'json' : output, await call('session.run_status', { run_id: await findId(call, id) }));
}

async function steer({ call, flags, output }: CommandContext, id: string): Promise<void> {
  const { message } = getText(flags, 'message', 'message');
  if (message === undefined) throw wrongUsage('runs steer needs --message.', `${self()} runs steer ${id} --message "…"`);
  const reply = await call('subagent.steer', { target: await findId(call, id), message });
  if (output !== 'table') printAs(output, reply);
  else print(`Steered ${reply.runId}.\n`);
}

async function kill({ call, output }: CommandContext, id: string): Promise<void> {
  const reply = await call('subagent.kill', { target: await findId(call, id) });
  if (output !== 'table') printAs(output, reply);
  else print(`Killed ${reply.runId}.\n`);
}

async function findId(call: CommandContext['call'], id: string): Promise<Run['runId']> {
  if (id.length >= FULL_ID_CHARS) return id;
  const { runs: recent } = await call('subagent.list', { recentMinutes: RECENT_MINUTES });
  const [found, other] = recent.filter(({ runId }) => runId.startsWith(id));
  if (found === undefined) throw new Failure(`No run of the last day has the id ${id}.`, `${self()} runs list`);
  if (other !== undefined) throw wrongUsage(`Several runs begin with ${id}.`, `${self()} runs list`);
  return found.runId;
}
