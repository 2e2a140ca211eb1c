import { text } from 'node:stream/consumers';
import { commandHelp } from '../command-help.ts';
import { EXIT, type Command, type Invocation } from '../command.ts';
import { connect } from '../context.ts';
import { wrongUsage } from '../failure.ts';
import { columns, print, printJson, remark } from '../output.ts';
import { self } from '../self.ts';

type Server = Pick<Awaited<ReturnType<typeof connect>>, 'call'>;

const ABOUT = [
  'Shows which secrets are set, and sets one. A value is never shown, and is in force without a restart.',
  '',
  '  list [name]   the names, with stars for any run of characters',
  '  set <NAME>    reads the value from the input, so that it stands in no history of a shell',
].join('\n');

export const env: Command = {
  flags: ['limit'],
  help: () =>
    commandHelp('env list|set …', ABOUT, {
      flags: [['--limit <n>', 'list: at most so many']],
      examples: ["env list '*_API_KEY'", 'env set OPENAI_API_KEY < key.txt'],
    }),
  async run(invocation) {
    const [verb = 'list', ...rest] = invocation.words;
    const act = verb === 'list' ? list : verb === 'set' ? set : undefined;
    if (act === undefined) throw wrongUsage(`env can list and set, not ${verb}.`, `${self()} env --help`);
    return act(rest, invocation);
  },
};

async function list([filter, ...more]: readonly string[], { flags, output, where }: Invocation): Promise<number> {
  if (more.length > 0) throw wrongUsage('env list takes one name; stars stand for the rest of it.', `${self()} env --help`);
  const { limit } = flags;
  if (limit !== undefined && !/^[0-9]{1,3}$/.test(limit))
    throw wrongUsage(`--limit is a whole number, not ${limit}.`, `${self()} env --help`);
  const params = { ...(filter === undefined ? {} : { filter }), ...(limit === undefined ? {} : { limit: Number(limit) }) };
  const answer = await asked(where, (client) => client.call('env.list', params));
  if (output === 'json') printJson(answer);
  else if (answer.secrets.length === 0) remark('No secret of that name is set.');
  else {
    print(
      columns(
        answer.secrets.map(({ name, source, provider, updatedAt }) => [
          name,
          source,
          provider ?? '',
          updatedAt === undefined ? '' : new Date(updatedAt).toISOString().slice(0, 16),
        ]),
      ),
    );
    if (answer.truncated) remark(`${answer.secrets.length} of ${answer.total}; more with --limit ${answer.total}`);
  }
  return EXIT.done;
}

async function set([key, ...more]: readonly string[], { output, where }: Invocation): Promise<number> {
  // One on the command line would stay in the history of the shell, and be seen by everybody who lists processes.
  if (key === undefined || more.length > 0)
    throw wrongUsage('env set takes a name; the value comes from the input.', `${self()} env --help`);
  if (process.stdin.isTTY) remark(`The value of ${key}, then Ctrl-D on a line of its own:`);
  const value = (await text(process.stdin)).replace(/\r?\n$/, '');
  if (value === '') throw wrongUsage(`There is no value of ${key} in the input.`, `${self()} env --help`);
  const answer = await asked(where, (client) => client.call('env.set', { key, value }));
  if (output === 'json') printJson(answer);
  else print(`${answer.key} is set, ${answer.storage === 'encrypted' ? 'sealed' : 'in clear text in a file'}, and in force\n`);
  return EXIT.done;
}

async function asked<T>(where: Invocation['where'], ask: (client: Server) => Promise<T>): Promise<T> {
  const client = await connect(where());
  try {
    return await ask(client);
  } finally {
    client.close();
  }
}
