import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mintToken } from '@switchyard/security';
import { StartError } from '@switchyard/service-kit';
import { lockDirectory } from '@switchyard/store';

const PRIVATE_DIR = 0o700;
const PRIVATE_FILE = 0o600;

/** Makes the data directory this process's own, readable by its user alone. Another process in it is named in one sentence. */
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

/** The first token: the one in the environment, else the one that was minted here once. */
export function firstToken(dir: string, given: string | undefined): string {
  if (given !== undefined) {
    keepToken(dir, given);
    return given;
  }
  const kept = readToken(dir);
  if (kept !== undefined) return kept;
  const { token } = mintToken('pat');
  keepToken(dir, token);
  return token;
}

/** What scripts read to learn what runs; rewritten when a process is started again. */
export interface RunFile {
  url: string;
  processes: { service: string; replica: string; pid: number; ports: Record<string, number>; log: string }[];
}

/** Disposing removes it: nothing runs here any more. */
export function writeRunFile(dir: string, run: RunFile): Disposable {
  const file = join(dir, 'run.json');
  try {
    writeFileSync(file, `${JSON.stringify(run, null, 2)}\n`, { mode: PRIVATE_FILE });
  } catch (cause) {
    throw notWritable(dir, cause);
  }
  return { [Symbol.dispose]: () => rmSync(file, { force: true }) };
}

function readToken(dir: string): string | undefined {
  try {
    return readFileSync(join(dir, 'token'), 'utf8').trim() || undefined;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw notWritable(dir, cause);
  }
}

/** The CLI reads it from there, also when the environment named the token. */
function keepToken(dir: string, token: string): void {
  const file = join(dir, 'token');
  try {
    writeFileSync(file, `${token}\n`, { mode: PRIVATE_FILE });
    chmodSync(file, PRIVATE_FILE);
  } catch (cause) {
    throw notWritable(dir, cause);
  }
}

function notWritable(dir: string, cause: unknown): StartError {
  const { code, path = dir } = cause as NodeJS.ErrnoException;
  const where = path === dir ? '' : ` at ${path}`;
  return new StartError(
    `the data directory ${dir} cannot be used (${code ?? 'unknown error'}${where}). Choose another: SWITCHYARD_DATA=~/.switchyard make start`,
    {
      cause,
    },
  );
}
