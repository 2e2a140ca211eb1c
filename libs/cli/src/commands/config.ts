import { closest } from '../closest.ts';
import { commandHelp } from '../command-help.ts';
import { EXIT, type Command } from '../command.ts';
import { connect } from '../context.ts';
import { wrongUsage } from '../failure.ts';
import { self } from '../self.ts';
import { changeKey, goBack } from './config-changes.ts';
import type { Verb } from './config-verb.ts';
import { showDiff, showHistory, showOrigins, showValue } from './config-views.ts';

const FLAGS: readonly [string, string][] = [
  ['--limit <n>', 'of history: how many versions; 10 unless said'],
  ['--base <version>', 'of set and rollback: refused when another version is the newest by now'],
  ['--message <text>', 'of set and rollback: why, for the history'],
];

const ABOUT = [
  'Looks at the configuration of a running server, changes it, and goes back. A change is in force everywhere within a second, without a restart.',
  '',
  '  get [key]              what is in force, without secrets: all of it, a section, or one key such as gateway.maxBatchSize',
  '  set <key> <value>      a value is JSON if it parses as JSON, else a string; null takes back what was set',
  '  print [section]        every key with its value and where that comes from',
  '  history                the versions, newest first',
  '  diff [version]         what changed since a version, or with the newest one',
  '  rollback <version>     makes an earlier version the newest',
].join('\n');

/** What each does with the words behind it, and how many of them it takes. */
const VERBS: Readonly<Record<string, { least: number; most: number; run: Verb }>> = {
  get: { least: 0, most: 1, run: showValue },
  set: { least: 2, most: 2, run: changeKey },
  print: { least: 0, most: 1, run: showOrigins },
  history: { least: 0, most: 0, run: showHistory },
  diff: { least: 0, most: 1, run: showDiff },
  rollback: { least: 1, most: 1, run: goBack },
};

export const config: Command = {
  flags: ['limit', 'base', 'message'],
  help: () =>
    commandHelp('config <what> …', ABOUT, {
      flags: FLAGS,
      examples: ['config print gateway', 'config set gateway.rateLimit.maxRequests 500', 'config history', 'config diff'],
    }),
  async run(invocation) {
    const [name, ...words] = invocation.words;
    if (name === undefined) throw wrongUsage('config needs to be told what to do.', `${self()} config --help`);
    const verb = Object.hasOwn(VERBS, name) ? VERBS[name] : undefined;
    if (verb === undefined) throw noSuchVerb(name);
    if (words.length < verb.least)
      throw wrongUsage(`config ${name} needs ${verb.least === 1 ? 'a word' : 'two words'} more.`, `${self()} config --help`);
    if (words.length > verb.most) throw wrongUsage(`config ${name} takes no ${words[verb.most]}.`, `${self()} config --help`);
    const client = await connect(invocation.where());
    try {
      await verb.run(client, words, invocation);
      return EXIT.done;
    } finally {
      client.close();
    }
  },
};

function noSuchVerb(name: string): Error {
  const [meant] = closest(name, Object.keys(VERBS));
  const hint = meant === undefined ? '.' : `; did you mean ${meant}?`;
  return wrongUsage(`config does not know ${name}${hint}`, `${self()} config --help`);
}
