import { readFile } from 'node:fs/promises';
import { StartError } from './start-error.ts';

export type Variables = Readonly<Record<string, string | undefined>>;

/** A variable, or the file that `<NAME>_FILE` names, without the line break at its end. Empty is as good as not set. */
export async function readSecret(env: Variables, name: string): Promise<string | undefined> {
  const value = env[name];
  const file = env[`${name}_FILE`];
  if (file === undefined || file === '') return value === '' ? undefined : value;
  if (value !== undefined && value !== '') throw new StartError(`${name} and ${name}_FILE are both set; keep one of them.`);
  const text = (await readText(file, name)).replace(/\r?\n$/, '');
  return text === '' ? undefined : text;
}

async function readText(file: string, name: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new StartError(`${name}_FILE names ${file}, which cannot be read (${code ?? 'unknown error'}).`, { cause });
  }
}
