import { parseArgs } from 'node:util';
import type { Client } from '@switchyard/client';
import { EVERYWHERE } from './arguments/arguments.ts';
import type { Command, Kind, Names } from './arguments/command.ts';
import { commands, isCommand } from './commands.ts';
import { connect, locate } from './server/server-location.ts';
import { OUTPUTS } from './output/output.ts';
import { getLeaves } from './output/settings-table.ts';

/** Timeout of a request for completions. The shell blocks until they are printed. */
const PATIENCE_MS = 700;
const OWN_NAMES: Readonly<Record<string, Names>> = { output: OUTPUTS, data: 'files' };

/** Returns completions for the last word; `files` if the shell should complete file names. Errors yield no completions. */
export async function suggest(words: readonly string[]): Promise<readonly string[] | 'files'> {
  const typed = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  const names = await namesFor(before, typed.startsWith('-'));
  if (names === 'files') return 'files';
  const matches = typeof names === 'string' ? await sendRequest(names, before) : names;
  // Only the last entry of a comma-separated list is completed.
  const start = typed.slice(0, typed.lastIndexOf(',') + 1);
  return matches.map((name) => start + name).filter((name) => name.startsWith(typed));
}

async function namesFor(before: readonly string[], flag: boolean): Promise<Names> {
  const { name, words, open } = read(before, undefined);
  if (open !== undefined) return OWN_NAMES[open] ?? [];
  if (name === undefined) return flag ? getFlags(undefined, undefined) : [...Object.keys(commands), 'help'];
  if (name === 'help') return words.length === 0 ? Object.keys(commands) : [];
  if (!isCommand(name)) return [];
  const command: Command = await commands[name].load();
  const typed = read(before, command);
  if (typed.open !== undefined) return command.getNames?.(typed.open) ?? OWN_NAMES[typed.open] ?? [];
  const offer = (await command.suggest?.(typed.words)) ?? {};
  return flag ? getFlags(command, offer.flags) : (offer.words ?? offer.names ?? []);
}

/** Parses the words before the cursor: the command, its words, and the flag whose value comes next. */
function read(before: readonly string[], command: Command | undefined) {
  const own = Object.fromEntries((command?.flags ?? []).map((flag) => [flag, { type: 'string' as const }]));
  const given = { args: [...before], options: { ...EVERYWHERE, ...own }, strict: false, allowPositionals: true, tokens: true } as const;
  const { tokens } = parseArgs(given);
  const last = tokens.findLast(({ index }) => index === before.length - 1);
  const isOpen = last?.kind === 'option' && last.value === undefined && isValued({ ...EVERYWHERE, ...own }, last.name);
  const [name, ...words] = tokens.flatMap((token) => (token.kind === 'positional' ? [token.value] : []));
  return { name, words, open: isOpen ? last.name : undefined };
}

function isValued(options: typeof EVERYWHERE, flag: string): boolean {
  return options[flag]?.type === 'string';
}

function getFlags(command: Command | undefined, some: readonly string[] | undefined): string[] {
  const own = some ?? [...(command?.flags ?? []), ...(command?.switches ?? [])];
  return [...own, ...Object.keys(EVERYWHERE)].map((flag) => `--${flag}`);
}

const ASKED: Readonly<Record<Kind, (client: Pick<Client, 'call'>) => Promise<string[]>>> = {
  agents: async (client) => (await client.call('agents.list', {})).agents,
  sessions: async (client) => (await client.call('session.list', {})).sessions.map(({ sessionKey }) => sessionKey),
  tokens: async (client) => (await client.call('tokens.list', {})).tokens.map(({ id }) => id),
  skills: async (client) => (await client.call('skills.list', {})).skills.map(({ name }) => name),
  providers: async (client) => (await client.call('models.list_providers', {})).providers,
  versions: async (client) => (await client.call('config.history', { limit: 20 })).entries.map(({ sha }) => sha.slice(0, 12)),
  settings: async (client) => {
    const { config } = (await client.call('config.read', {})) as { config: Record<string, unknown> };
    return [...Object.keys(config), ...[...getLeaves(config)].map(([path]) => path)];
  },
};

/** Fetches names from the server. Returns none if it is unreachable, slow, or rejects the token. */
async function sendRequest(kind: Kind, before: readonly string[]): Promise<string[]> {
  try {
    const { values } = parseArgs({ args: [...before], options: EVERYWHERE, strict: false, allowPositionals: true });
    const flags = Object.fromEntries(Object.entries(values).flatMap(([flag, value]) => (typeof value === 'string' ? [[flag, value]] : [])));
    const client = await connect(locate(flags));
    const late = AbortSignal.timeout(PATIENCE_MS);
    const { promise, reject } = Promise.withResolvers<never>();
    late.addEventListener('abort', () => reject(late.reason as Error), { once: true });
    try {
      return await Promise.race([ASKED[kind](client), promise]);
    } finally {
      client.close();
    }
  } catch {
    return [];
  }
}
