import { LogLevel, LogModule } from '@switchyard/contracts';
import { closest } from '../closest.ts';
import { commandHelp } from '../command-help.ts';
import { EXIT, type Command } from '../command.ts';
import { connect } from '../context.ts';
import { wrongUsage } from '../failure.ts';
import { print, printJson } from '../output.ts';
import { self } from '../self.ts';

const ABOUT = [
  'Sets how much every process of a running server logs, at once and until the next start.',
  '',
  `  levels    ${LogLevel.options.join(', ')}`,
  `  modules   ${LogModule.options.join(', ')}; without one, all of them`,
].join('\n');

export const logs: Command = {
  flags: [],
  help: () =>
    commandHelp('logs level <level> [module]', ABOUT, {
      examples: ['logs level debug sessions', 'logs level info', 'config get logLevel'],
    }),
  async run({ words, output, where }) {
    const [verb, word, name, ...more] = words;
    if (verb !== 'level' || word === undefined || more.length > 0) throw wrongUsage('logs can level <level> [module].', help());
    const level = oneOf(LogLevel.options, word, 'level');
    const module = name === undefined ? undefined : oneOf(LogModule.options, name, 'module');
    const client = await connect(where());
    try {
      const answer = await client.call('daemon.setLogLevel', { level, ...(module === undefined ? {} : { module }) });
      if (output === 'json') printJson(answer);
      else print(`${module ?? 'everything'} logs ${answer.level} and above, until the next start\n`);
      return EXIT.done;
    } finally {
      client.close();
    }
  },
};

function oneOf<T extends string>(options: readonly T[], word: string, what: string): T {
  const found = options.find((option) => option === word);
  if (found !== undefined) return found;
  const [meant] = closest(word, options);
  throw wrongUsage(`There is no ${what} ${word}${meant === undefined ? '' : `; did you mean ${meant}?`}`, help());
}

function help(): string {
  return `${self()} logs --help`;
}
