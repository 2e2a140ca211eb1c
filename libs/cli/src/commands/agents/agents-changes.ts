import type { CallParams } from '@switchyard/client';
import { confirm } from '../../arguments/confirmation.ts';
import { Failure, wrongUsage } from '../../output/failure.ts';
import { textOf } from '../../arguments/flags.ts';
import type { Given } from '../../arguments/command-group.ts';
import { print, printAs } from '../../output/output.ts';
import { readParams } from '../../arguments/params.ts';
import { quote, self } from '../../server/installation.ts';
import { sayUnread } from '../config/config-changes.ts';

export async function createAgent({ call, flags, output }: Given, name: string, ...words: string[]): Promise<void> {
  const answer = await call('agents.create', { ...settingsOf(flags, words), name });
  if (output !== 'table') return printAs(output, answer);
  print(`${answer.agentId} takes messages now\n`);
  sayUnread(answer.notInForce);
}

export async function updateAgent({ call, flags, output }: Given, agentId: string, ...words: string[]): Promise<void> {
  const settings = settingsOf(flags, words);
  if (Object.keys(settings).length === 0)
    throw wrongUsage('agents update needs a setting=value to change.', `${self()} agents show ${agentId} --all`);
  const dryRun = flags['dry-run'] !== undefined;
  const asked = { ...settings, agentId, ...(dryRun ? { dryRun } : {}) } as CallParams<'agents.update'>;
  const answer = await call('agents.update', asked);
  if (output !== 'table') printAs(output, answer);
  else if ('updated' in answer) print(`${agentId} is changed, from its next turn on\n`);
  else if (answer.valid) print(`${agentId} could be changed so\n`);
  sayUnread(answer.notInForce);
  if ('dryRun' in answer && !answer.valid)
    throw new Failure(`It would be refused: ${answer.errors.join('; ')}.`, `${self()} agents show ${agentId}`);
}

export async function suspendAgent({ call, output }: Given, agentId: string): Promise<void> {
  const answer = await call('agents.suspend', { agentId });
  if (output !== 'table') printAs(output, answer);
  else print(`${agentId} takes no more messages; what runs, finishes\n`);
}

export async function resumeAgent({ call, output }: Given, agentId: string): Promise<void> {
  const answer = await call('agents.resume', { agentId });
  if (output !== 'table') printAs(output, answer);
  else print(`${agentId} takes messages again\n`);
}

export async function deleteAgent({ call, flags, output }: Given, agentId: string): Promise<void> {
  await confirm(
    `${agentId} is removed; its sessions stay, and new turns in them fail.`,
    flags,
    `${self()} agents suspend ${quote(agentId)}`,
  );
  const answer = await call('agents.delete', { agentId });
  if (output !== 'table') printAs(output, answer);
  else print(`${agentId} is removed\n`);
}

/** Reads settings from the command line. The server validates them, because it may be newer than the CLI. */
function settingsOf(flags: Given['flags'], words: readonly string[]): Record<string, unknown> {
  return { ...readParams(undefined, words), ...textOf(flags, 'provider', 'provider'), ...textOf(flags, 'model', 'model') };
}
