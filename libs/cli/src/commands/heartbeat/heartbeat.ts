import type { CallParams, CallResult } from '@switchyard/client';
import { getNumber, getText } from '../../arguments/flags.ts';
import { group, type CommandContext } from '../../arguments/command-group.ts';
import { wrongUsage } from '../../output/failure.ts';
import { oneLine, print, printAs, remark, table } from '../../output/output.ts';
import { second } from '../../output/times.ts';
import { self } from '../../server/installation.ts';

type State = CallResult<'heartbeat.states'>['agents'][number];

async function listStates({ call, output }: CommandContext): Promise<void> {
  const answer = await call('heartbeat.states', {});
  if (output !== 'table') return printAs(output, answer);
  if (answer.agents.length === 0) return remark(`No agents. Add one: ${self()} agents --help`);
  print(table(['AGENT', 'INTERVAL', 'LAST (UTC)', 'NEXT (UTC)', 'STATE'], answer.agents.map(toLine)));
}

function toLine({ agentId, enabled, intervalMs, lastRunMs, nextDueMs, consecutiveErrors, lastOutcome, lastReason }: State): string[] {
  const outcome = lastReason === undefined ? (lastOutcome ?? '') : `${lastOutcome}: ${oneLine(lastReason)}`;
  const state = consecutiveErrors === 0 ? outcome : `${consecutiveErrors} errors in a row; ${outcome}`;
  const interval = enabled && intervalMs > 0 ? `${intervalMs / 1_000} s` : 'off';
  return [agentId, interval, lastRunMs === null ? '-' : second(lastRunMs), nextDueMs === null ? '-' : second(nextDueMs), state];
}

async function showSettings({ call, output }: CommandContext, agentId: string): Promise<void> {
  const answer = await call('heartbeat.get', { agentId });
  if (output !== 'table') return printAs(output, answer);
  const { perAgent, effective } = answer;
  const lines = Object.entries(effective).map(([name, value]) => [name, JSON.stringify(value), name in perAgent ? 'agent' : 'general']);
  print(table(['SETTING', 'VALUE', 'FROM'], lines));
}

async function updateSettings({ call, flags, output }: CommandContext, agentId: string): Promise<void> {
  const change: Omit<CallParams<'heartbeat.update'>, 'agentId'> = {
    ...getNumber(flags, 'interval', 'intervalMs'),
    ...getText(flags, 'prompt', 'prompt'),
    ...getText(flags, 'model', 'model'),
  };
  if (Object.keys(change).length === 0)
    throw wrongUsage('heartbeat update needs at least one of --interval, --prompt and --model.', `${self()} heartbeat update --help`);
  const answer = await call('heartbeat.update', { agentId, ...change });
  if (output !== 'table') printAs(output, answer);
  else print(`Updated the heartbeat of ${agentId}.\n`);
}

async function trigger({ call, output }: CommandContext, agentId: string): Promise<void> {
  const answer = await call('heartbeat.trigger', { agentId });
  if (output !== 'table') printAs(output, answer);
  else print(`Triggered the heartbeat of ${agentId}. Its result: ${self()} heartbeat\n`);
}

async function wakeAll({ call, flags, output }: CommandContext): Promise<void> {
  const answer = await call('scheduler.wake', { source: flags.source ?? 'cli' });
  if (output !== 'table') printAs(output, answer);
  else print(`Woke the agents with a heartbeat. Their results: ${self()} heartbeat\n`);
}

export const heartbeat = group({
  name: 'heartbeat',
  about: 'Lists, triggers and changes heartbeats, in which agents look after things at an interval.',
  otherwise: 'list',
  verbs: {
    list: { about: 'lists the last and next heartbeat of every agent', run: listStates },
    get: { takes: '<agent>', about: 'shows the settings of a heartbeat', run: showSettings },
    update: { takes: '<agent>', about: 'changes and stores settings', flags: ['interval', 'prompt', 'model'], run: updateSettings },
    trigger: { takes: '<agent>', about: 'runs a heartbeat now', run: trigger },
  },
  flags: {
    interval: { value: 'ms', about: 'update: milliseconds between heartbeats; 0 disables them' },
    prompt: { value: 'text', about: 'update: what the agent does in a heartbeat' },
    model: { value: 'name', about: 'update: model of the heartbeat' },
  },
  examples: ['heartbeat', 'heartbeat update default --interval 600000', 'heartbeat trigger default'],
});

export const wake = group({
  name: 'wake',
  about: 'Runs the heartbeats of all agents now.',
  otherwise: 'all',
  verbs: { all: { about: 'runs the heartbeats of all agents now', flags: ['source'], run: wakeAll } },
  flags: { source: { value: 'label', about: 'free label of the trigger; default: cli' } },
  examples: ['wake --source deploy'],
});
