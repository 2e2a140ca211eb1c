import { LogLevel, LogModule } from '@switchyard/contracts';
import { closest } from '../arguments/similar-names.ts';
import { Failure, wrongUsage } from '../output/failure.ts';
import { getNumber } from '../arguments/flags.ts';
import { group, type CommandContext } from '../arguments/command-group.ts';
import { describeLine, followFiles, readLast, type LogLine } from './log-lines.ts';
import { print, printAs } from '../output/output.ts';
import { self } from '../server/installation.ts';

const DEFAULT_LINES = 50;

export const logs = group({
  name: 'logs',
  about: [
    'Shows log lines of the server on this machine, and sets the log levels of all processes of a running server.',
    '',
    `  levels    ${LogLevel.options.join(', ')}`,
    `  modules   ${LogModule.options.join(', ')}`,
  ].join('\n'),
  verbs: {
    show: {
      takes: '[module]',
      about: 'shows the newest log lines of one module or of all',
      names: [LogModule.options],
      flags: ['lines', 'follow', 'level', 'request'],
      run: show,
    },
    level: {
      takes: '<level> [module]',
      about: 'sets the log level immediately, until the next start',
      names: [LogLevel.options, LogModule.options],
      run: setLevel,
    },
  },
  flags: {
    lines: { value: 'n', about: `show: number of lines; default: ${DEFAULT_LINES}` },
    follow: { about: 'show: keeps printing new lines until Ctrl-C' },
    level: { value: 'level', about: 'show: this level and above', names: LogLevel.options },
    request: { value: 'id', about: 'show: lines of one request' },
  },
  examples: ['logs show --follow', 'logs show gateway --level warn', 'logs level debug sessions', 'logs level info'],
});

async function show({ flags, output, where }: CommandContext, name?: string): Promise<void> {
  const { lines = DEFAULT_LINES } = getNumber(flags, 'lines', 'lines');
  const { level = 'trace', request } = flags;
  const requested = {
    module: name && parseChoice(LogModule.options, name, 'module'),
    level: parseChoice(LogLevel.options, level, 'level'),
    request,
  };
  const { url, run, data } = where();
  const files = [...new Set(run?.processes.map(({ log }) => log))];
  if (files.length === 0) {
    throw new Failure(
      `No server that runs with ${data} has a log file. This command reads log files of this machine only; the server at ${url} may run elsewhere.`,
      `${self()} status`,
    );
  }
  const notify = (line: LogLine): void => print(output === 'table' ? `${describeLine(line)}\n` : `${line.text}\n`);
  const { found, ends } = readLast(files, requested, lines);
  for (const line of found) notify(line);
  if (flags['follow'] !== undefined) await followFiles(ends, requested, notify);
}

async function setLevel({ call, output }: CommandContext, word: string, name?: string): Promise<void> {
  const level = parseChoice(LogLevel.options, word, 'level');
  const module = name === undefined ? undefined : parseChoice(LogModule.options, name, 'module');
  const answer = await call('daemon.setLogLevel', { level, ...(module === undefined ? {} : { module }) });
  if (output !== 'table') printAs(output, answer);
  else print(`${module ?? 'All modules'}: log level ${answer.level} until the next start\n`);
}

function parseChoice<T extends string>(options: readonly T[], word: string, description: string): T {
  const found = options.find((option) => option === word);
  if (found !== undefined) return found;
  const [suggestion] = closest(word, options);
  throw wrongUsage(
    `Unknown ${description} ${word}.${suggestion === undefined ? '' : ` Did you mean ${suggestion}?`}`,
    `${self()} logs --help`,
  );
}
