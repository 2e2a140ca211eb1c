import { text as readAll } from 'node:stream/consumers';
import { confirm } from '../../arguments/confirmation.ts';
import { wrongUsage } from '../../output/failure.ts';
import { choiceOf, instantOf, listOf, textOf } from '../../arguments/flags.ts';
import type { Given } from '../../arguments/command-group.ts';
import { print, printAs, printJson } from '../../output/output.ts';
import { self } from '../../server/installation.ts';
import { TYPES } from './memory-views.ts';

export async function addMemory({ call, flags, output }: Given, text: string): Promise<void> {
  const content = text === '-' ? (await readAll(process.stdin)).trim() : text;
  if (content === '') throw wrongUsage('There is nothing to remember in the input.', `${self()} memory add --help`);
  const answer = await call('memory.store', {
    content,
    ...textOf(flags, 'agent', 'agent_id'),
    ...choiceOf(flags, 'type', { name: 'memory_type', of: TYPES }),
    ...(flags['tags'] === undefined ? {} : { tags: listOf(flags['tags']) }),
    ...(flags['expires'] === undefined ? {} : { expires_at: instantOf(flags['expires'], 'expires') }),
  });
  if (output !== 'table') printAs(output, answer);
  else print(`${answer.id} remembered\n`);
}

export async function forgetMemory({ call, output }: Given, id: string): Promise<void> {
  const answer = await call('memory.delete', { id });
  if (output !== 'table') printAs(output, answer);
  else print(`${answer.id} forgotten\n`);
}

export async function clearMemory({ call, flags, output }: Given): Promise<void> {
  await confirm('Everything that the agents of this tenant remember is forgotten for good.', flags, `${self()} memory export`);
  const answer = await call('memory.flush', {});
  if (output !== 'table') printAs(output, answer);
  else print(`${answer.deletedCount} memories forgotten\n`);
}

export async function exportMemories({ call }: Given): Promise<void> {
  printJson(await call('memory.export', {}));
}
