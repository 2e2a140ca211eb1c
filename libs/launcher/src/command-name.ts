import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('../../../bin/switchyard', import.meta.url));
const DEFAULT_DATA = '.switchyard';

/** How the command is called from a directory so that it finds this data: what is printed can be pasted there. */
export function commandHere(data: string, directory: string = process.cwd()): string {
  const near = relative(directory, SCRIPT);
  const script = near.startsWith('..') ? SCRIPT : near;
  return [script, ...(data === DEFAULT_DATA ? [] : ['--data', data])].map(quote).join(' ');
}

/** One word for the shell. */
function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
