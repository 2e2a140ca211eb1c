import { readFile } from 'node:fs/promises';
import { StartError } from './start-error.ts';

export type Variables = Readonly<Record<string, string | undefined>>;

/** Reads a variable, or the file named by `<NAME>_FILE` without its last line break. An empty value counts as not set. */
export async function readSecret(env: Variables, name: string): Promise<string | undefined> {
  const value = env[name];
  const text = await readNamedFile(env, `${name}_FILE`);
  if (text === undefined) return value === '' ? undefined : value;
  if (value !== undefined && value !== '') throw new StartError(`${name} and ${name}_FILE are both set. Unset one of them.`);
  return text.replace(/\r?\n$/, '') || undefined;
}

/** Reads the file that a variable names; undefined if the variable is not set. */
export async function readNamedFile(env: Variables, name: string): Promise<string | undefined> {
  const file = env[name];
  if (file === undefined || file === '') return undefined;
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new StartError(`${name} names ${file}, which cannot be read (${code ?? 'unknown error'}).`, { cause });
  }
}
