import { indented } from './arguments/command-help.ts';
import { commands } from './commands.ts';
import { rows } from './output/output.ts';
import { self } from './server/installation.ts';

const OPTIONS: readonly [string, string][] = [
  ['--url <url>', 'the server; else SWITCHYARD_URL, else the one that runs with the data directory, else http://127.0.0.1:4766'],
  ['--token <token>', 'else SWITCHYARD_TOKEN or SWITCHYARD_TOKEN_FILE, else the one saved in the data directory'],
  ['--data <directory>', 'the data directory; else SWITCHYARD_DATA, else .switchyard'],
  [
    '-o, --output <form>',
    'table, json, yaml, or ndjson with a line for each; failures are JSON beside all but the first, on standard error',
  ],
  ['--json', 'the same as --output json'],
  ['-h, --help', 'what a command does'],
  ['-v, --version', 'the version of this command'],
];

/** Renders the short help that is shown without arguments. */
export function shortHelp(): string {
  const me = self();
  return rows([
    [`${me} start`, commands.start.summary],
    [`${me} ask "hello"`, commands.ask.summary],
    [`${me} rpc session.list`, commands.rpc.summary],
    [`${me} status`, commands.status.summary],
    [`${me} help`, 'everything else'],
  ]);
}

export function generalHelp(): string {
  return [
    `Usage: ${self()} <command> [options]`,
    '',
    indented(
      [...Object.values(commands), { usage: 'help [command]', summary: 'says more about one' }].map(({ usage, summary }) => [
        usage,
        summary,
      ]),
    ),
    'Options of every command',
    indented(OPTIONS),
    'Exit codes: 0 done · 1 the server or the call said no · 2 wrong usage · 130 stopped by Ctrl-C',
    'Colour is for terminals; NO_COLOR=1 turns it off.',
    '',
  ].join('\n');
}
