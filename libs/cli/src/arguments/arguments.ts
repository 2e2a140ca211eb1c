import { parseArgs, type ParseArgsConfig } from 'node:util';
import { closest } from './similar-names.ts';
import type { Command } from './command.ts';
import { wrongUsage } from '../output/failure.ts';
import { OUTPUTS, type Output } from '../output/output.ts';
import { self } from '../server/installation.ts';

type Options = NonNullable<ParseArgsConfig['options']>;

export const EVERYWHERE: Options = {
  url: { type: 'string' },
  token: { type: 'string' },
  data: { type: 'string' },
  output: { type: 'string', short: 'o' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
};

/** The command name and the remaining arguments. */
export interface Split {
  name: string | undefined;
  rest: string[];
}

/** Splits the command name from the arguments: the first word that is neither a flag nor the value of a flag. */
export function splitCommand(args: readonly string[]): Split {
  const { tokens } = parseArgs({ args: [...args], options: EVERYWHERE, strict: false, allowPositionals: true, tokens: true });
  const word = tokens.find((token) => token.kind === 'positional');
  return word ? { name: word.value, rest: args.toSpliced(word.index, 1) } : { name: undefined, rest: [...args] };
}

type Own = Pick<Command, 'flags' | 'switches'>;

export interface Parsed {
  flags: Record<string, string>;
  words: string[];
  help: boolean;
  version: boolean;
}

/** Parses the global flags and the command's own flags. Rejects unknown flags. */
export function parse(args: readonly string[], { flags: own, switches = [] }: Own, command: string): Parsed {
  const options: Options = { ...EVERYWHERE, ...getOptions(own, 'string'), ...getOptions(switches, 'boolean') };
  const { values, positionals } = strictly(args, options, command);
  const flags: Record<string, string> = {};
  for (const [flag, value] of Object.entries(values)) {
    if (value === '') throw wrongUsage(`--${flag} needs a value.`, getHelp(command));
    if (typeof value === 'string') flags[flag] = value;
    if (value === true && switches.includes(flag)) flags[flag] = 'yes';
  }
  checkOutput(flags['output'], values['json'] === true);
  if (values['json'] === true) flags['output'] = 'json';
  return { flags, words: positionals, help: values['help'] === true, version: values['version'] === true };
}

function getOptions(names: readonly string[], type: 'string' | 'boolean'): Options {
  return Object.fromEntries(names.map((name) => [name, { type }]));
}

function strictly(args: readonly string[], options: Options, command: string) {
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: true });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const flag = /'(-[^' ,]*)/.exec(message)?.[1] ?? 'A flag';
    const help = getHelp(command);
    if (code !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
      throw wrongUsage(`${flag} ${message.includes('does not take') ? 'takes no value' : 'needs a value'}.`, help);
    }
    const [suggestion] = closest(flag.replace(/^-+/, ''), Object.keys(options));
    throw wrongUsage(`Unknown flag ${flag}${suggestion === undefined ? '.' : `. Did you mean --${suggestion}?`}`, help);
  }
}

function getHelp(command: string): string {
  return command === '' ? `${self()} help` : `${self()} ${command} --help`;
}

function checkOutput(output: string | undefined, json: boolean): void {
  if (output !== undefined && output !== 'json' && json) {
    throw wrongUsage(`--json means --output json and conflicts with --output ${output}. Remove one of them.`, `${self()} help`);
  }
  if (output !== undefined && getForm(output) === undefined) {
    throw wrongUsage(`--output must be ${OUTPUTS.slice(0, -1).join(', ')} or ${OUTPUTS.at(-1)}, not ${output}.`, `${self()} help`);
  }
}

function getForm(word: unknown): Output | undefined {
  return OUTPUTS.find((form) => form === word);
}

/** Returns the output format, also for a command line that is invalid otherwise, so that its error is printed in that format. */
export function getOutput(args: readonly string[]): Output {
  const { values } = parseArgs({ args: [...args], options: EVERYWHERE, strict: false, allowPositionals: true });
  return values['json'] === true ? 'json' : (getForm(values['output']) ?? 'table');
}
