import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

const INSTALL_MS = 180_000;
const LIBRARIES = ['usr/lib/x86_64-linux-gnu', 'lib/x86_64-linux-gnu'];

const source = fileURLToPath(new URL('../../../tools/mongo-of-ubuntu/', import.meta.url));
const tools = fileURLToPath(new URL('../../../.tools/', import.meta.url));
const installed = join(tools, 'mongo-of-ubuntu');

export const MONGO_OF_UBUNTU = 'MongoDB 3.6.8 as Ubuntu 20.04 has it, said to be newer than it is';

/**
 * The command before the options of a mongod that is older than the driver takes: whoever uses it stands a relay before it that says
 * otherwise. Installs it once. Rejects where its packages cannot be had.
 */
export async function findMongoOfUbuntu(): Promise<string[]> {
  await mkdir(tools, { recursive: true });
  await run('flock', [`${installed}.lock`, join(source, 'install.sh'), installed], { timeout: INSTALL_MS });
  const root = join(installed, 'root');
  return ['env', `LD_LIBRARY_PATH=${LIBRARIES.map((one) => join(root, one)).join(':')}`, join(root, 'usr/bin/mongod')];
}
