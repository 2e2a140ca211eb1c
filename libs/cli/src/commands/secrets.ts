import { text } from 'node:stream/consumers';
import type { Command } from '../arguments/command.ts';
import { wrongUsage } from '../output/failure.ts';
import { numberOf } from '../arguments/flags.ts';
import { group, type Given } from '../arguments/command-group.ts';
import { print, printAs, remark, table } from '../output/output.ts';
import { self } from '../server/installation.ts';
import { minute } from '../output/times.ts';

export const secrets = secretsAs('secrets');
/** Alias of `secrets`, named like its RPC methods. */
export const env = secretsAs('env');

function secretsAs(name: string): Command {
  return group({
    name,
    about: 'Shows which secrets are set, and sets one. A value is never shown, and is in force without a restart.',
    otherwise: 'list',
    verbs: {
      list: { takes: '[name]', about: 'the names, with stars for any run of characters', flags: ['limit'], run: list },
      set: { takes: '<NAME>', about: 'reads the value from the input, so that it stands in no history of a shell', run: set },
    },
    flags: { limit: { value: 'n', about: 'list: at most so many' } },
    examples: [`${name} list '*_API_KEY'`, `${name} set OPENAI_API_KEY < key.txt`],
  });
}

async function list({ call, flags, output }: Given, filter?: string): Promise<void> {
  const answer = await call('env.list', { ...(filter === undefined ? {} : { filter }), ...numberOf(flags, 'limit', 'limit') });
  if (output !== 'table') return printAs(output, answer);
  if (answer.secrets.length === 0) return remark('No secret of that name is set.');
  const lines = answer.secrets.map(({ name, source, provider = '', updatedAt }) => [
    name,
    source,
    provider,
    updatedAt === undefined ? '' : minute(updatedAt),
  ]);
  print(table(['SECRET', 'KEPT', 'PROVIDER', 'SET'], lines));
  if (answer.truncated) remark(`${answer.secrets.length} of ${answer.total}; more with --limit ${answer.total}`);
}

async function set({ call, output }: Given, key: string): Promise<void> {
  if (process.stdin.isTTY) remark(`The value of ${key}, then Ctrl-D on a line of its own:`);
  const value = (await text(process.stdin)).replace(/\r?\n$/, '');
  if (value === '') throw wrongUsage(`There is no value of ${key} in the input.`, `${self()} secrets --help`);
  const answer = await call('env.set', { key, value });
  if (output !== 'table') printAs(output, answer);
  else print(`${answer.key} is set, ${answer.storage === 'encrypted' ? 'sealed' : 'in clear text in a file'}, and in force\n`);
}
