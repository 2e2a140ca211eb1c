import { existsSync } from 'node:fs';
import { delimiter, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository this file belongs to, when it runs from a checkout. */
export const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));

/** The process that serves; undefined where only the command was installed. */
export function serverProgram(): string | undefined {
  const program = join(ROOT, 'services/embedded/src/main.ts');
  return existsSync(program) ? program : undefined;
}

/** How this command is called from here, so that what it prints can be pasted. */
export function self(): string {
  const script = join(ROOT, 'bin/switchyard');
  if (!existsSync(script)) return 'switchyard';
  const near = relative(process.cwd(), script);
  if (!near.startsWith('..')) return quote(near);
  const onPath = (process.env['PATH'] ?? '').split(delimiter).some((directory) => existsSync(join(directory, 'switchyard')));
  return onPath ? 'switchyard' : quote(script);
}

/** One word for the shell. */
export function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
