import { chmodSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DATA_DIRECTORY_FILE } from '@switchyard/contracts';
import { DEFAULT_DATA, keepFile, StartError, type Environment } from '@switchyard/service-kit';
import { lockDirectory } from '@switchyard/store';

const PRIVATE_DIR = 0o700;

/** Creates the data directory, readable by its user only, and locks it for this process. Throws if another process holds the lock. */
export function claimDataDirectory(dir: string): Disposable {
  try {
    mkdirSync(dir, { recursive: true, mode: PRIVATE_DIR });
    chmodSync(dir, PRIVATE_DIR);
    mkdirSync(join(dir, 'logs'), { recursive: true, mode: PRIVATE_DIR });
  } catch (cause) {
    throw notWritable(dir, cause);
  }
  return lockDirectory(dir);
}

/**
 * Writes a note into the default data directory if the setting `dataDir` names another one. The CLI finds the data directory by this
 * note, because it reads neither the configuration nor the environment of the server.
 */
export function leaveNote({ data, dataFrom }: Pick<Environment, 'data' | 'dataFrom'>): void {
  const note = join(DEFAULT_DATA, DATA_DIRECTORY_FILE);
  try {
    if (dataFrom === 'default') rmSync(note, { force: true });
    if (dataFrom !== 'settings' || resolve(data) === resolve(DEFAULT_DATA)) return;
    mkdirSync(DEFAULT_DATA, { recursive: true, mode: PRIVATE_DIR });
    keepPrivately(DEFAULT_DATA, DATA_DIRECTORY_FILE, resolve(data));
  } catch {
    // The default directory may not be writable; the CLI then needs --data.
  }
}

/** Reads the token that is saved in a data directory. */
export function readToken(dir: string): string | undefined {
  return readPrivately(dir, 'token');
}

/** Saves the token for the CLI, also if it comes from the environment. */
export function keepToken(dir: string, token: string): void {
  keepPrivately(dir, 'token', token);
}

export function dropToken(dir: string): void {
  rmSync(join(dir, 'token'), { force: true });
}

/** Reads a private file. Returns undefined if it is missing or empty. */
export function readPrivately(dir: string, name: string): string | undefined {
  try {
    return readFileSync(join(dir, name), 'utf8').trim() || undefined;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw notWritable(dir, cause);
  }
}

/** Replaces a file atomically, readable by its user only, and flushes it to disk. */
export function keepPrivately(dir: string, name: string, text: string): void {
  try {
    keepFile(join(dir, name), `${text}\n`);
  } catch (cause) {
    throw notWritable(dir, cause);
  }
}

function notWritable(dir: string, cause: unknown): StartError {
  const { code, path = dir } = cause as NodeJS.ErrnoException;
  const location = path === dir ? '' : ` at ${path.replace(/\.new$/, '')}`;
  return new StartError(
    `the data directory ${dir} cannot be used (${code ?? 'unknown error'}${location}). Choose another one: SWITCHYARD_DATA=~/.switchyard`,
    { cause },
  );
}
