import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

const DEBIAN_PACKAGE = 'redis-server';
const INSTALL_MS = 300_000;
/** Runlevel 1 keeps the package from starting a server of its own. */
const INSTALL_ENVIRONMENT = { DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };

let found: Promise<string> | undefined;

/** Where a redis-server is. Installs the system's package once, if it must and may; else says what is missing. */
export function findRedisServer(): Promise<string> {
  return (found ??= find());
}

async function find(): Promise<string> {
  const known = await onThePath();
  if (known !== undefined) return known;
  const failure = await install();
  const installed = await onThePath();
  if (installed !== undefined) return installed;
  throw new Error(
    `No redis-server on the PATH, and it could not be installed (${failure ?? `${DEBIAN_PACKAGE} brought none`}). ` +
      `Put one on the PATH, or run: sudo apt-get install ${DEBIAN_PACKAGE}`,
  );
}

async function onThePath(): Promise<string | undefined> {
  for (const directory of (process.env['PATH'] ?? '').split(delimiter)) {
    const candidate = join(directory, 'redis-server');
    try {
      await access(candidate, constants.X_OK);
      return candidate;
    } catch {
      // Not there: the next place may have one.
    }
  }
  return undefined;
}

/** Undefined when it worked, else why not. Test files run at the same time, and one of them installs. */
async function install(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'only root may install it';
  const script = `command -v redis-server || { apt-get -q update && apt-get -qy install --no-install-recommends ${DEBIAN_PACKAGE}; }`;
  const lock = join(tmpdir(), 'switchyard-apt.lock');
  try {
    await run('flock', [lock, 'sh', '-c', script], { env: { ...process.env, ...INSTALL_ENVIRONMENT }, timeout: INSTALL_MS });
    return undefined;
  } catch (error) {
    return error instanceof Error ? (error.message.trim().split('\n').at(-1) ?? error.message) : String(error);
  }
}
