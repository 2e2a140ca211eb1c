import type { CallResult } from '@switchyard/client';
import { commandHelp } from '../command-help.ts';
import { EXIT, type Command, type Invocation } from '../command.ts';
import { connect } from '../context.ts';
import { wrongUsage } from '../failure.ts';
import { print, printJson, remark, rows } from '../output.ts';
import { self } from '../self.ts';

type Match = CallResult<'session.search'>[number];
type Server = Pick<Awaited<ReturnType<typeof connect>>, 'call'>;

/** What one of the words does: asks, and prints what came. Gives the exit code. */
type Act = (server: Server, given: Given) => Promise<number>;
interface Given extends Pick<Invocation, 'flags' | 'output'> {
  /** What stands after the word. */
  rest: readonly string[];
}

const FLAGS: readonly [string, string][] = [
  ['--limit <n>', 'search: at most so many'],
  ['--memory yes', 'reset: also what is remembered of it'],
];

const ACTS: Readonly<Record<string, Act>> = { search, reset, compact };

export const sessions: Command = {
  flags: ['limit', 'memory'],
  help: () =>
    commandHelp(
      'sessions search "<words>"|reset <key>|compact <key> [--limit <n>] [--memory yes]',
      'Finds conversations by what was said in them, clears them, and has what is old in them told in summaries.',
      { flags: FLAGS, examples: ['sessions search "second offer"', 'sessions reset default:alice:gateway'] },
    ),
  async run({ flags, words, output, where }) {
    const [word = '', ...rest] = words;
    const act = Object.hasOwn(ACTS, word) ? ACTS[word] : undefined;
    if (!act) throw wrongUsage(`sessions can ${Object.keys(ACTS).join(', ')}, not ${word || 'nothing'}.`, `${self()} sessions --help`);
    const client = await connect(where());
    try {
      return await act(client, { flags, output, rest });
    } finally {
      client.close();
    }
  },
};

async function search(server: Server, { flags, output, rest }: Given): Promise<number> {
  if (rest.length === 0) throw wrongUsage('sessions search needs words to look for.', `${self()} sessions --help`);
  const found = await server.call('session.search', { query: rest.join(' '), ...limitOf(flags) });
  if (output === 'json') return done(() => printJson(found));
  return done(() => (found.length === 0 ? remark('Nothing like it was said.') : print(table(found))));
}

async function reset(server: Server, { flags, output, rest }: Given): Promise<number> {
  const memory = flags['memory'];
  if (memory !== undefined && memory !== 'yes' && memory !== 'no')
    throw wrongUsage(`--memory is yes or no, not ${memory}.`, `${self()} sessions --help`);
  const answer = await server.call('session.reset_conversation', { session_key: keyOf(rest, 'reset'), memory: memory === 'yes' });
  if (output === 'json') return done(() => printJson(answer));
  const { sessionKey, sessionMessagesCleared, memoriesDeleted } = answer;
  const memories = memoriesDeleted === undefined ? '' : `, ${memoriesDeleted} memories forgotten`;
  return done(() => print(`${sessionKey}: ${sessionMessagesCleared} messages cleared${memories}\n`));
}

async function compact(server: Server, { output, rest }: Given): Promise<number> {
  const answer = await server.call('session.compact', { key: keyOf(rest, 'compact') });
  if (output === 'json') return done(() => printJson(answer));
  const { sessionKey, compactionTriggered, estimatedTokens, tokensAfter = estimatedTokens } = answer;
  if (!compactionTriggered) return done(() => remark('There is nothing to make shorter: only the last turns are told word by word.'));
  return done(() => print(`${sessionKey}: about ${estimatedTokens} tokens are ${tokensAfter} now\n`));
}

function done(tell: () => void): number {
  tell();
  return EXIT.done;
}

function table(found: readonly Match[]): string {
  return rows(
    found.map(({ sessionKey, timestamp, agentId, score, snippet }) => [
      sessionKey,
      `${new Date(timestamp).toISOString().slice(0, 16)}  ${agentId}  ${score.toFixed(2)}  ${snippet.replaceAll(/\s+/g, ' ').trim()}`,
    ]),
  );
}

function keyOf(rest: readonly string[], word: string): string {
  const [key, ...more] = rest;
  if (key === undefined || more.length > 0) throw wrongUsage(`sessions ${word} takes the key of one session.`, `${self()} sessions --help`);
  return key;
}

function limitOf(flags: Given['flags']): { limit?: number } {
  const text = flags['limit'];
  if (text === undefined) return {};
  if (!/^[0-9]{1,9}$/.test(text)) throw wrongUsage(`--limit is a whole number, not ${text}.`, `${self()} sessions --help`);
  return { limit: Number(text) };
}
