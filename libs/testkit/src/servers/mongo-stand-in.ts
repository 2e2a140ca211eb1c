import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

const INSTALL_MS = 300_000;
/** The stand-in buffers writes in memory until it saves them; a busy test writes some megabytes per second. */
const MEMORY = ['-Xms32m', '-Xmx384m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];

const source = fileURLToPath(new URL('../../../../scripts/mongo-stand-in/', import.meta.url));
const tools = fileURLToPath(new URL('../../../../.tools/', import.meta.url));

export const STAND_IN = 'the stand-in mongo-java-server 1.47.0 (no users, no $jsonSchema, no write concern)';

/** Installation directory of the current source version. */
const installed = join(tools, `mongo-stand-in-${getVersion(source)}`);

export function isStandInInstalled(): boolean {
  return existsSync(installed);
}

/** Installs the stand-in once under a lock. Java and Maven are installed as system packages if they are missing and permitted. */
export async function installStandIn(): Promise<void> {
  await mkdir(tools, { recursive: true });
  await run('flock', [join(tools, 'mongo-stand-in.lock'), join(source, 'install.sh'), installed], { timeout: INSTALL_MS });
}

/** Returns the command that serves a database file on a port of 127.0.0.1 while its standard input is open. */
export function standInCommand(file: string, port: number): string[] {
  const classPath = `${join(installed, 'classes')}:${join(installed, 'lib', '*')}`;
  return ['java', ...MEMORY, '-cp', classPath, 'StandIn', file, String(port)];
}

function getVersion(directory: string): string {
  const hash = createHash('sha256');
  const names = readdirSync(directory).filter((name) => !name.endsWith('.md'));
  for (const name of names.toSorted()) hash.update(name).update(readFileSync(join(directory, name)));
  return hash.digest('hex').slice(0, 12);
}
