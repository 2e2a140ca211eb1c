import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('../../../bin/switchyard', import.meta.url));
const DEFAULT_DATA = '.switchyard';

/** Returns the command line of the CLI for a data directory, as it can be pasted in the given directory. */
export function commandHere(data: string, directory: string = process.cwd()): string {
  const near = relative(directory, SCRIPT);
  const script = near.startsWith('..') ? SCRIPT : near;
  return [script, ...(data === DEFAULT_DATA ? [] : ['--data', data])].map(quote).join(' ');
}

/** Quotes a word for the shell. */
function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
