import { existsSync } from 'node:fs';
import { delimiter, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of the repository, if the CLI runs from a checkout. */
export const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));

/** Returns the path of the server program; undefined if only the CLI is installed. */
export function serverProgram(): string | undefined {
  const program = join(ROOT, 'services/embedded/src/main.ts');
  return existsSync(program) ? program : undefined;
}

/** Returns the command line of the CLI as it can be pasted in the current directory. */
export function self(): string {
  const script = join(ROOT, 'bin/switchyard');
  if (!existsSync(script)) return 'switchyard';
  const near = relative(process.cwd(), script);
  if (!near.startsWith('..')) return quote(near);
  const onPath = (process.env['PATH'] ?? '').split(delimiter).some((directory) => existsSync(join(directory, 'switchyard')));
  return onPath ? 'switchyard' : quote(script);
}

/** Quotes a word for the shell. */
export function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
