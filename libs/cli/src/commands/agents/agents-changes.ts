import type { CallParams } from '@switchyard/client';
import { confirm } from '../../arguments/confirmation.ts';
import { Failure, wrongUsage } from '../../output/failure.ts';
import { getText } from '../../arguments/flags.ts';
import type { CommandContext } from '../../arguments/command-group.ts';
import { print, printAs } from '../../output/output.ts';
import { readParams } from '../../arguments/params.ts';
import { quote, self } from '../../server/installation.ts';
import { sayUnread } from '../config/config-changes.ts';

export async function createAgent({ call, flags, output }: CommandContext, name: string, ...words: string[]): Promise<void> {
  const answer = await call('agents.create', { ...getSettings(flags, words), name });
  if (output !== 'table') return printAs(output, answer);
  print(`Created agent ${answer.agentId}. It accepts messages now.\n`);
  sayUnread(answer.notInForce);
}

export async function updateAgent({ call, flags, output }: CommandContext, agentId: string, ...words: string[]): Promise<void> {
  const settings = getSettings(flags, words);
  if (Object.keys(settings).length === 0)
    throw wrongUsage('agents update needs at least one setting=value.', `${self()} agents show ${agentId} --all`);
  const dryRun = flags['dry-run'] !== undefined;
  const request = { ...settings, agentId, ...(dryRun ? { dryRun } : {}) } as CallParams<'agents.update'>;
  const answer = await call('agents.update', request);
  if (output !== 'table') printAs(output, answer);
  else if ('updated' in answer) print(`Updated ${agentId}. The change takes effect at its next turn.\n`);
  else if (answer.valid) print(`The change of ${agentId} is valid. Nothing was written.\n`);
  sayUnread(answer.notInForce);
  if ('dryRun' in answer && !answer.valid)
    throw new Failure(`The change is invalid: ${answer.errors.join('; ')}.`, `${self()} agents show ${agentId}`);
}

export async function suspendAgent({ call, output }: CommandContext, agentId: string): Promise<void> {
  const answer = await call('agents.suspend', { agentId });
  if (output !== 'table') printAs(output, answer);
  else print(`Suspended ${agentId}. Running turns finish; new messages are refused.\n`);
}

export async function resumeAgent({ call, output }: CommandContext, agentId: string): Promise<void> {
  const answer = await call('agents.resume', { agentId });
  if (output !== 'table') printAs(output, answer);
  else print(`Resumed ${agentId}. It accepts messages again.\n`);
}

export async function deleteAgent({ call, flags, output }: CommandContext, agentId: string): Promise<void> {
  await confirm(
    `This deletes agent ${agentId}. Its sessions are kept, but new turns in them fail.`,
    flags,
    `${self()} agents suspend ${quote(agentId)}`,
  );
  const answer = await call('agents.delete', { agentId });
  if (output !== 'table') printAs(output, answer);
  else print(`${agentId} is removed\n`);
}

/** Reads settings from the command line. The server validates them, because it may be newer than the CLI. */
function getSettings(flags: CommandContext['flags'], words: readonly string[]): Record<string, unknown> {
  return { ...readParams(undefined, words), ...getText(flags, 'provider', 'provider'), ...getText(flags, 'model', 'model') };
}
