import type { Client } from '@switchyard/client';
import { closest } from './similar-names.ts';
import { commandHelp, indented } from './command-help.ts';
import { EXIT, type Command, type Invocation, type Names } from './command.ts';
import { connect } from '../server/server-location.ts';
import { wrongUsage } from '../output/failure.ts';
import { self } from '../server/installation.ts';

/** The context of a subcommand. */
export interface CommandContext extends Pick<Invocation, 'flags' | 'output' | 'where'> {
  /** Calls an RPC method. The connection is opened by the first call. */
  call: Client['call'];
}

/** A subcommand of a command group. */
export interface Verb {
  /** The positional arguments as shown in the help, which also define validation: `<key> [value]`, or `<word>…` for any number. */
  takes?: string;
  about: string;
  /** The flags that this subcommand accepts. */
  flags?: readonly string[];
  /** The kind of value of each positional argument, for shell completion. */
  names?: readonly Names[];
  run(options: CommandContext, ...words: string[]): Promise<void>;
}

interface Flag {
  /** The placeholder of the value; a flag without it is a switch. */
  value?: string;
  about: string;
  names?: Names;
}

export interface Group {
  name: string;
  about: string;
  verbs: Readonly<Record<string, Verb>>;
  flags?: Readonly<Record<string, Flag>>;
  examples: readonly string[];
  /** The default subcommand; without it, the bare group name is a usage error. */
  otherwise?: string;
}

/** Creates a command with subcommands. Help, validation and shell completion are derived from their declarations. */
export function group(given: Group): Command {
  const { name, verbs, flags = {}, otherwise } = given;
  const all = Object.entries(flags);
  return {
    flags: all.filter(([, { value }]) => value !== undefined).map(([flag]) => flag),
    switches: all.filter(([, { value }]) => value === undefined).map(([flag]) => flag),
    help: ({ words: [word] }) => (word !== undefined && Object.hasOwn(verbs, word) ? helpOfVerb(given, word) : getHelp(given)),
    async run(invocation) {
      const [word = otherwise, ...rest] = invocation.words;
      if (word === undefined) throw wrongUsage(`${name} needs a subcommand: ${Object.keys(verbs).join(', ')}.`, helpFor(name));
      const verb = Object.hasOwn(verbs, word) ? verbs[word] : undefined;
      if (verb === undefined) throw createUnknownVerbError(given, word);
      checkWords(`${name} ${word}`, verb, rest);
      checkFlags(given, { word, verb }, invocation.flags);
      await runVerb(verb, rest, invocation);
      return EXIT.done;
    },
    suggest: ([word, ...rest]) => {
      if (word === undefined) return { words: Object.keys(verbs), flags: [] };
      const verb = Object.hasOwn(verbs, word) ? verbs[word] : undefined;
      const names = verb?.names?.[Math.min(rest.length, getMaxArguments(verb) - 1)];
      return { ...(names === undefined ? {} : { names }), flags: verb?.flags ?? [] };
    },
    getNames: (flag) => flags[flag]?.names,
  };
}

async function runVerb(verb: Verb, words: readonly string[], { flags, output, where }: Invocation): Promise<void> {
  let client: Client | undefined;
  const call = (async (...requests: Parameters<Client['call']>) => (client ??= await connect(where())).call(...requests)) as Client['call'];
  try {
    await verb.run({ flags, output, where, call }, ...words);
  } finally {
    client?.close();
  }
}

function takenBy({ takes }: Verb): string[] {
  return takes?.split(' ') ?? [];
}

function getMaxArguments(verb: Verb): number {
  const taken = takenBy(verb);
  return taken.some((one) => one.endsWith('…')) ? Infinity : taken.length;
}

function checkWords(called: string, verb: Verb, words: readonly string[]): void {
  const taken = takenBy(verb);
  const least = taken.filter((one) => one.startsWith('<')).length;
  if (words.length < least)
    throw wrongUsage(`${called} needs ${taken.slice(words.length, least).join(' and ')}.`, `${self()} ${called} --help`);
  const beyond = words[getMaxArguments(verb)];
  if (beyond !== undefined)
    throw wrongUsage(`${called} takes no ${taken.length === 0 ? '' : 'further '}argument ${beyond}.`, `${self()} ${called} --help`);
}

function checkFlags({ name, flags = {} }: Group, { word, verb }: { word: string; verb: Verb }, given: Invocation['flags']): void {
  const other = Object.keys(given).find((flag) => Object.hasOwn(flags, flag) && !verb.flags?.includes(flag));
  if (other !== undefined) throw wrongUsage(`${name} ${word} does not accept --${other}.`, `${self()} ${name} ${word} --help`);
}

function createUnknownVerbError({ name, verbs }: Group, word: string): Error {
  const [suggestion] = closest(word, Object.keys(verbs));
  const hint = suggestion === undefined ? `. Subcommands: ${Object.keys(verbs).join(', ')}.` : `. Did you mean ${suggestion}?`;
  return wrongUsage(`${name} has no subcommand ${word}${hint}`, helpFor(name));
}

function helpFor(name: string): string {
  return `${self()} ${name} --help`;
}

function getHelp({ name, about, verbs, flags = {}, examples }: Group): string {
  const lines = Object.entries(verbs).map(([word, verb]) => [`${word} ${verb.takes ?? ''}`.trimEnd(), verb.about] as const);
  return commandHelp(`${name} <what> …`, `${about}\n\n${indented(lines).trimEnd()}`, {
    flags: getLines(flags, Object.keys(flags)),
    examples,
  });
}

function helpOfVerb({ name, verbs, flags = {}, examples }: Group, word: string): string {
  const { takes = '', about, flags: own = [] } = verbs[word] as Verb;
  const shown = examples.filter((example) => example.startsWith(`${name} ${word}`));
  const sentence = `${about[0]?.toUpperCase()}${about.slice(1)}.`;
  return commandHelp(`${name} ${word} ${takes}`.trimEnd(), sentence, { flags: getLines(flags, own), examples: shown });
}

function getLines(flags: NonNullable<Group['flags']>, names: readonly string[]): [string, string][] {
  return names.map((flag) => {
    const { value, about = '' } = flags[flag] ?? {};
    return [`--${flag}${value === undefined ? '' : ` <${value}>`}`, about];
  });
}
