import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

const INSTALL_MS = 300_000;
/** Runlevel 1 keeps a package from starting a server of its own. */
const INSTALL_ENVIRONMENT = { DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };

/** A program of a system package. */
interface SystemBinary {
  /** Possible names; the first one found is used. */
  names: readonly [string, ...string[]];
  debianPackage: string;
  /** Not installed automatically, because that takes longer than a test may. */
  large?: true;
}

/** Finds a program on the PATH. Installs the system package if it is missing and permitted; otherwise throws with the remedy. */
async function findSystemBinary(requested: SystemBinary): Promise<string> {
  const known = await onThePath(requested);
  if (known !== undefined) return known;
  const { names, debianPackage, large = false } = requested;
  const failure = large ? undefined : await install(requested);
  const installed = large ? undefined : await onThePath(requested);
  if (installed !== undefined) return installed;
  const tried = large ? '' : `, and it could not be installed (${failure ?? `${debianPackage} brought none`})`;
  throw new Error(`No ${names[0]} on the PATH${tried}. Put one on the PATH, or run: sudo apt-get install ${debianPackage}`);
}

async function onThePath({ names }: SystemBinary): Promise<string | undefined> {
  const directories = (process.env['PATH'] ?? '').split(delimiter);
  for (const candidate of names.flatMap((name) => directories.map((directory) => join(directory, name)))) {
    try {
      await access(candidate, constants.X_OK);
      return candidate;
    } catch {
      // Not found; try the next directory.
    }
  }
  return undefined;
}

/** Returns undefined on success, otherwise the reason. A lock serializes installations of concurrent test files. */
async function install({ names, debianPackage }: SystemBinary): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'only root may install it';
  const script = `command -v ${names[0]} || { apt-get -q update && apt-get -qy install --no-install-recommends ${debianPackage}; }`;
  const lock = join(tmpdir(), 'switchyard-apt.lock');
  try {
    await run('flock', [lock, 'sh', '-c', script], { env: { ...process.env, ...INSTALL_ENVIRONMENT }, timeout: INSTALL_MS });
    return undefined;
  } catch (error) {
    return error instanceof Error ? (error.message.trim().split('\n').at(-1) ?? error.message) : String(error);
  }
}

let chromium: Promise<string> | undefined;
let redisServer: Promise<string> | undefined;

/** Finds Chromium on the PATH. Never installs it, because that takes longer than a test may. */
export function findChromium(): Promise<string> {
  return (chromium ??= findSystemBinary({
    names: ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'],
    debianPackage: 'chromium',
    large: true,
  }));
}

/** Finds redis-server on the PATH, or installs the system's package. */
export function findRedisServer(): Promise<string> {
  return (redisServer ??= findSystemBinary({ names: ['redis-server'], debianPackage: 'redis-server' }));
}
