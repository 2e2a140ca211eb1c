import { text as readAll } from 'node:stream/consumers';
import { confirm } from '../../arguments/confirmation.ts';
import { wrongUsage } from '../../output/failure.ts';
import { getChoice, getInstant, getList, getText } from '../../arguments/flags.ts';
import type { CommandContext } from '../../arguments/command-group.ts';
import { print, printAs, printJson } from '../../output/output.ts';
import { self } from '../../server/installation.ts';
import { TYPES } from './memory-views.ts';

export async function addMemory({ call, flags, output }: CommandContext, text: string): Promise<void> {
  const content = text === '-' ? (await readAll(process.stdin)).trim() : text;
  if (content === '') throw wrongUsage('The input is empty.', `${self()} memory add --help`);
  const answer = await call('memory.store', {
    content,
    ...getText(flags, 'agent', 'agent_id'),
    ...getChoice(flags, 'type', { name: 'memory_type', of: TYPES }),
    ...(flags['tags'] === undefined ? {} : { tags: getList(flags['tags']) }),
    ...(flags['expires'] === undefined ? {} : { expires_at: getInstant(flags['expires'], 'expires') }),
  });
  if (output !== 'table') printAs(output, answer);
  else print(`${answer.id} remembered\n`);
}

export async function forgetMemory({ call, output }: CommandContext, id: string): Promise<void> {
  const answer = await call('memory.delete', { id });
  if (output !== 'table') printAs(output, answer);
  else print(`${answer.id} forgotten\n`);
}

export async function clearMemory({ call, flags, output }: CommandContext): Promise<void> {
  await confirm('This permanently deletes all memories of all agents of this tenant.', flags, `${self()} memory export`);
  const answer = await call('memory.flush', {});
  if (output !== 'table') printAs(output, answer);
  else print(`${answer.deletedCount} memories forgotten\n`);
}

export async function exportMemories({ call }: CommandContext): Promise<void> {
  printJson(await call('memory.export', {}));
}
