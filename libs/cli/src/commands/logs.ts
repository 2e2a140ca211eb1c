import { LogLevel, LogModule } from '@switchyard/contracts';
import { closest } from '../arguments/similar-names.ts';
import { Failure, wrongUsage } from '../output/failure.ts';
import { numberOf } from '../arguments/flags.ts';
import { group, type Given } from '../arguments/command-group.ts';
import { describeLine, followFiles, readLast, type LogLine } from './log-lines.ts';
import { print, printAs } from '../output/output.ts';
import { self } from '../server/installation.ts';

const SHOWN = 50;

export const logs = group({
  name: 'logs',
  about: [
    'Shows what is logged by what runs on this machine, and sets how much every process of a running server logs.',
    '',
    `  levels    ${LogLevel.options.join(', ')}`,
    `  modules   ${LogModule.options.join(', ')}`,
  ].join('\n'),
  verbs: {
    show: {
      takes: '[module]',
      about: 'the newest lines of the log, of one module or of all',
      names: [LogModule.options],
      flags: ['lines', 'follow', 'level', 'request'],
      run: show,
    },
    level: {
      takes: '<level> [module]',
      about: 'how much is logged, at once and until the next start',
      names: [LogLevel.options, LogModule.options],
      run: setLevel,
    },
  },
  flags: {
    lines: { value: 'n', about: `show: how many; ${SHOWN} unless said` },
    follow: { about: 'show: goes on with what is logged from now on, until Ctrl-C' },
    level: { value: 'level', about: 'show: of this level and above', names: LogLevel.options },
    request: { value: 'id', about: 'show: of one request' },
  },
  examples: ['logs show --follow', 'logs show gateway --level warn', 'logs level debug sessions', 'logs level info'],
});

async function show({ flags, output, where }: Given, name?: string): Promise<void> {
  const { lines = SHOWN } = numberOf(flags, 'lines', 'lines');
  const { level = 'trace', request } = flags;
  const wanted = { module: name && oneOf(LogModule.options, name, 'module'), level: oneOf(LogLevel.options, level, 'level'), request };
  const { url, run, data } = where();
  const files = [...new Set(run?.processes.map(({ log }) => log))];
  if (files.length === 0) {
    throw new Failure(
      `Nothing that runs with ${data} says where it logs: this reads files of this machine, and ${url} may be elsewhere.`,
      `${self()} status`,
    );
  }
  const tell = (line: LogLine): void => print(output === 'table' ? `${describeLine(line)}\n` : `${line.text}\n`);
  const { found, ends } = readLast(files, wanted, lines);
  for (const line of found) tell(line);
  if (flags['follow'] !== undefined) await followFiles(ends, wanted, tell);
}

async function setLevel({ call, output }: Given, word: string, name?: string): Promise<void> {
  const level = oneOf(LogLevel.options, word, 'level');
  const module = name === undefined ? undefined : oneOf(LogModule.options, name, 'module');
  const answer = await call('daemon.setLogLevel', { level, ...(module === undefined ? {} : { module }) });
  if (output !== 'table') printAs(output, answer);
  else print(`${module ?? 'everything'} logs ${answer.level} and above, until the next start\n`);
}

function oneOf<T extends string>(options: readonly T[], word: string, what: string): T {
  const found = options.find((option) => option === word);
  if (found !== undefined) return found;
  const [meant] = closest(word, options);
  throw wrongUsage(`There is no ${what} ${word}${meant === undefined ? '' : `; did you mean ${meant}?`}`, `${self()} logs --help`);
}
