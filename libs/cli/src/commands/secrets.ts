import { text } from 'node:stream/consumers';
import type { Command } from '../arguments/command.ts';
import { wrongUsage } from '../output/failure.ts';
import { getChoice, getList, getNumber } from '../arguments/flags.ts';
import { group, type CommandContext } from '../arguments/command-group.ts';
import { print, printAs, remark, table } from '../output/output.ts';
import { self } from '../server/installation.ts';
import { minute } from '../output/times.ts';

const PURPOSES = ['provider', 'webhook', 'signing', 'tool', 'browser'] as const;

export const secrets = secretsAs('secrets');
/** Alias of `secrets`, named like its RPC methods. */
export const env = secretsAs('env');

function secretsAs(name: string): Command {
  return group({
    name,
    about: 'Lists the names of stored secrets and sets a value. Values are never shown. A new value takes effect without a restart.',
    otherwise: 'list',
    verbs: {
      list: { takes: '[name]', about: 'lists the names; * in the pattern matches any characters', flags: ['limit'], run: list },
      set: {
        takes: '<NAME>',
        about: 'reads the value from standard input, so that it is not in the shell history',
        flags: ['purpose', 'origin'],
        run: set,
      },
    },
    flags: {
      limit: { value: 'n', about: 'list: maximum number of names' },
      purpose: { value: 'purpose', about: `set: only use of the secret: ${PURPOSES.join(', ')}` },
      origin: { value: 'origins', about: 'set: only origins that receive a provider key, with commas between them' },
    },
    examples: [
      `${name} list '*_API_KEY'`,
      `${name} set OPENAI_API_KEY < key.txt`,
      `${name} set LAB_API_KEY --purpose provider --origin https://models.example < key.txt`,
    ],
  });
}

async function list({ call, flags, output }: CommandContext, filter?: string): Promise<void> {
  const answer = await call('env.list', { ...(filter === undefined ? {} : { filter }), ...getNumber(flags, 'limit', 'limit') });
  if (output !== 'table') return printAs(output, answer);
  if (answer.secrets.length === 0) return remark('No secret matches.');
  const lines = answer.secrets.map(({ name, source, provider = '', updatedAt }) => [
    name,
    source,
    provider,
    updatedAt === undefined ? '' : minute(updatedAt),
  ]);
  print(table(['SECRET', 'KEPT', 'PROVIDER', 'SET'], lines));
  if (answer.truncated) remark(`${answer.secrets.length} of ${answer.total}. Show all with --limit ${answer.total}`);
}

async function set({ call, flags, output }: CommandContext, key: string): Promise<void> {
  const purpose = getChoice(flags, 'purpose', { name: 'purpose', of: PURPOSES });
  const origins = flags['origin'] === undefined ? {} : { origins: getList(flags['origin']) };
  if (process.stdin.isTTY) remark(`Enter the value of ${key}, then press Ctrl-D on a new line:`);
  const value = (await text(process.stdin)).replace(/\r?\n$/, '');
  if (value === '') throw wrongUsage(`The input contains no value for ${key}.`, `${self()} secrets --help`);
  const answer = await call('env.set', { key, value, ...purpose, ...origins });
  if (output !== 'table') printAs(output, answer);
  else print(`${answer.key} is set, ${answer.storage === 'encrypted' ? 'encrypted' : 'as plain text in a file'}, and in effect\n`);
}
