import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FirstToken } from '@switchyard/secrets';
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

/**
 * The saved token, if it still opens anything; else the one of the environment; else, while no token may do everything, a new
 * one. Undefined when there are tokens and none of them is known here.
 */
export async function firstToken(dir: string, given: string | undefined, tokens: FirstToken): Promise<string | undefined> {
  const saved = readToken(dir);
  if (saved !== undefined && (await tokens.accepts(saved))) return saved;
  if (given !== undefined) {
    keepToken(dir, given);
    return given;
  }
  let minted: string | undefined;
  const admitted = await tokens.admit(() => {
    minted = mintToken('pat').token;
    keepToken(dir, minted);
    return minted;
  });
  if (admitted === undefined && minted !== undefined) rmSync(join(dir, 'token'), { force: true }); // somebody else was first
  return admitted;
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

/** The CLI reads it from there, also when the environment named the token. It is whole and on the disk, or as it was before. */
function keepToken(dir: string, token: string): void {
  const file = join(dir, 'token');
  try {
    rmSync(`${file}.new`, { force: true });
    writeFileSync(`${file}.new`, `${token}\n`, { mode: PRIVATE_FILE, flush: true });
    renameSync(`${file}.new`, file);
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
