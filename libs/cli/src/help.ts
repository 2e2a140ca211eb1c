import { indented } from './arguments/command-help.ts';
import { commands } from './commands.ts';
import { rows } from './output/output.ts';
import { self } from './server/installation.ts';

const OPTIONS: readonly [string, string][] = [
  ['--url <url>', 'server address. Default: SWITCHYARD_URL, else the server of the data directory, else http://127.0.0.1:4766'],
  ['--token <token>', 'access token. Default: SWITCHYARD_TOKEN or SWITCHYARD_TOKEN_FILE, else the token in the data directory'],
  ['--data <directory>', 'data directory. Default: SWITCHYARD_DATA, else .switchyard'],
  ['-o, --output <form>', 'table, json, yaml, or ndjson with one line per entry; with all but table, errors are JSON on standard error'],
  ['--json', 'the same as --output json'],
  ['-h, --help', 'describes a command'],
  ['-v, --version', 'prints the version'],
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
      [...Object.values(commands), { usage: 'help [command]', summary: 'describes one command' }].map(({ usage, summary }) => [
        usage,
        summary,
      ]),
    ),
    'Common options',
    indented(OPTIONS),
    'Exit codes: 0 success · 1 failure or refusal · 2 wrong usage · 130 stopped by Ctrl-C',
    'Colours are used on terminals only; NO_COLOR=1 disables them.',
    '',
  ].join('\n');
}
