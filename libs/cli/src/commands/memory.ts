import type { CallResult } from '@switchyard/client';
import { commandHelp } from '../command-help.ts';
import { EXIT, type Command, type Invocation } from '../command.ts';
import { connect } from '../context.ts';
import { Failure, wrongUsage } from '../failure.ts';
import { print, printJson, remark, rows } from '../output.ts';
import { self } from '../self.ts';

type Entry = CallResult<'memory.search'>['results'][number];
type Server = Pick<Awaited<ReturnType<typeof connect>>, 'call'>;

/** What one of the words does: asks, and prints what came. Gives the exit code. */
type Act = (server: Server, given: Given) => Promise<number>;
interface Given extends Pick<Invocation, 'flags' | 'output'> {
  /** What stands after the word. */
  rest: readonly string[];
}

const FLAGS: readonly [string, string][] = [
  ['--agent <id>', 'of which agent; a search is of the default one unless said'],
  ['--limit <n>', 'at most so many'],
  ['--offset <n>', 'list: from which on'],
];

const ACTS: Readonly<Record<string, Act>> = { list, search, show, forget, export: exportAll };

export const memory: Command = {
  flags: ['agent', 'limit', 'offset'],
  help: () =>
    commandHelp(
      'memory list|search "<words>"|show <id>|forget <id>|export [--agent <id>] [--limit <n>] [--offset <n>]',
      'Shows what agents remember, and forgets it. export prints all of it as JSON.',
      { flags: FLAGS, examples: ['memory list', 'memory search "answers in the morning"', 'memory export > memories.json'] },
    ),
  async run({ flags, words, output, where }) {
    const [word = 'list', ...rest] = words;
    const act = Object.hasOwn(ACTS, word) ? ACTS[word] : undefined;
    if (!act) throw wrongUsage(`memory can ${Object.keys(ACTS).join(', ')}, not ${word}.`, `${self()} memory --help`);
    const client = await connect(where());
    try {
      return await act(client, { flags, output, rest });
    } finally {
      client.close();
    }
  },
};

async function list(server: Server, { flags, output, rest }: Given): Promise<number> {
  requireNone(rest, 'list');
  const page = await server.call('memory.browse', { ...numbers(flags), ...agent(flags) });
  if (output === 'json') return done(() => printJson(page));
  if (page.entries.length === 0) return done(() => remark('Nothing is remembered.'));
  print(table(page.entries));
  const next = page.offset + page.entries.length;
  if (page.hasMore) remark(`${next} of ${page.total}; the next: ${self()} memory list --offset ${next}`);
  return EXIT.done;
}

async function search(server: Server, { flags, output, rest }: Given): Promise<number> {
  if (rest.length === 0) throw wrongUsage('memory search needs words to look for.', `${self()} memory --help`);
  const { limit } = numbers(flags);
  const found = await server.call('memory.search', { query: rest.join(' '), ...(limit === undefined ? {} : { limit }), ...agent(flags) });
  if (output === 'json') return done(() => printJson(found));
  return done(() => (found.results.length === 0 ? remark('Nothing that is remembered is like it.') : print(table(found.results))));
}

async function show(server: Server, { output, rest }: Given): Promise<number> {
  const { entry } = await server.call('memory.inspect', { id: idOf(rest, 'show') });
  if (!entry) throw new Failure(`There is no memory ${rest[0]}.`, `${self()} memory list`);
  return done(() => (output === 'json' ? printJson(entry) : print(`${rows(described(entry))}\n${entry.content}\n`)));
}

async function forget(server: Server, { output, rest }: Given): Promise<number> {
  const answer = await server.call('memory.delete', { id: idOf(rest, 'forget') });
  return done(() => (output === 'json' ? printJson(answer) : print(`${answer.id} forgotten\n`)));
}

async function exportAll(server: Server, { rest }: Given): Promise<number> {
  requireNone(rest, 'export');
  const all = await server.call('memory.export', {});
  return done(() => printJson(all));
}

function done(tell: () => void): number {
  tell();
  return EXIT.done;
}

function table(entries: readonly Entry[]): string {
  return rows(
    entries.map(({ id, createdAt, agentId, trustLevel, score, content }) => {
      const facts = [
        new Date(createdAt).toISOString().slice(0, 16),
        agentId,
        trustLevel,
        ...(score === undefined ? [] : [score.toFixed(2)]),
      ];
      return [id, `${facts.join('  ')}  ${oneLine(content)}`];
    }),
  );
}

const MOST_CHARS = 80;

function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length <= MOST_CHARS ? line : `${line.slice(0, MOST_CHARS - 1).toWellFormed()}…`;
}

function described(entry: Entry): [string, string][] {
  const { id, agentId, userId, memoryType, trustLevel, taintLevel, source, sourceType, tags, createdAt, expiresAt, metadata } = entry;
  const known: [string, string | undefined][] = [
    ['id', id],
    ['agent', agentId],
    ['user', userId],
    ['kind', memoryType],
    ['trust', [trustLevel, taintLevel].filter(Boolean).join(', ')],
    ['source', [sourceType, source.who, source.channel, source.sessionKey].filter(Boolean).join('  ')],
    ['tags', tags.length === 0 ? undefined : tags.join(' ')],
    ['metadata', metadata && JSON.stringify(metadata)],
    ['created', new Date(createdAt).toISOString()],
    ['expires', expiresAt === undefined ? undefined : new Date(expiresAt).toISOString()],
  ];
  return known.flatMap(([label, text]) => (text === undefined ? [] : [[label, text]]));
}

function idOf(rest: readonly string[], word: string): string {
  const [id, ...more] = rest;
  if (id === undefined || more.length > 0) throw wrongUsage(`memory ${word} takes the id of one memory.`, `${self()} memory list`);
  return id;
}

function requireNone(rest: readonly string[], word: string): void {
  if (rest.length > 0) throw wrongUsage(`memory ${word} takes no words.`, `${self()} memory --help`);
}

function agent(flags: Given['flags']): { agent_id?: string } {
  return flags['agent'] === undefined ? {} : { agent_id: flags['agent'] };
}

function numbers(flags: Given['flags']): { limit?: number; offset?: number } {
  const named = (['limit', 'offset'] as const).flatMap((name) => {
    const text = flags[name];
    if (text === undefined) return [];
    if (!/^[0-9]{1,9}$/.test(text)) throw wrongUsage(`--${name} is a whole number, not ${text}.`, `${self()} memory --help`);
    return [[name, Number(text)]];
  });
  return Object.fromEntries(named) as { limit?: number; offset?: number };
}
