import { execFile } from 'node:child_process';
import { constants, readdirSync } from 'node:fs';
import { access, mkdir, rm, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { installStandIn, isStandInInstalled, STAND_IN, standInCommand } from './mongo-stand-in.ts';

const run = promisify(execFile);

/** npm package that downloads mongod; it fails within seconds if the download server is unreachable. */
const DOWNLOADER = 'mongodb-memory-server-core';
const DOWNLOADER_VERSION = '11.3.0';
const DOWNLOAD_MS = 120_000;

const tools = fileURLToPath(new URL('../../../../.tools/', import.meta.url));
const downloaded = join(tools, 'mongod');

/** A MongoDB server program of this machine. */
export interface MongoProgram {
  /** Name for the output of a test run. */
  name: string;
  /** True for MongoDB itself, which has users, `$jsonSchema` and write concern. */
  real: boolean;
  command: (directory: string, port: number) => string[];
  /** Output that shows that the server accepts connections. */
  ready: RegExp;
}

let found: Promise<MongoProgram> | undefined;

/** Finds a MongoDB server: mongod on the PATH, a downloaded mongod, or the stand-in. Downloads or installs it once if needed. */
export function findMongo(): Promise<MongoProgram> {
  return (found ??= find());
}

async function find(): Promise<MongoProgram> {
  const known = (await onThePath()) ?? inTools();
  if (known !== undefined) return mongod(known);
  if (isStandInInstalled()) return standIn;
  const failures: string[] = [];
  try {
    return mongod(await download());
  } catch (error) {
    failures.push(`${DOWNLOADER}: ${reason(error)}`);
  }
  try {
    await installStandIn();
    return standIn;
  } catch (error) {
    failures.push(`the stand-in: ${reason(error)}`);
  }
  throw new Error(
    `No mongod on the PATH, and nothing in its place could be installed (${failures.join('; ')}). ` +
      'Put one on the PATH, or name a server in SWITCHYARD_TEST_MONGO_URL.',
  );
}

const standIn: MongoProgram = {
  name: STAND_IN,
  real: false,
  command: (directory, port) => standInCommand(join(directory, 'stand-in.mv'), port),
  ready: /listening on \d+/,
};

/** A replica set of one member, so that write concern and retryable writes work. */
function mongod(binary: string): MongoProgram {
  return {
    name: `${binary}, a replica set of one`,
    real: true,
    command(directory, port) {
      const alone = ['--bind_ip', '127.0.0.1', '--port', String(port), '--nounixsocket'];
      return [binary, '--replSet', 'rs0', '--dbpath', directory, ...alone];
    },
    ready: /Waiting for connections/,
  };
}

async function onThePath(): Promise<string | undefined> {
  for (const directory of (process.env['PATH'] ?? '').split(delimiter)) {
    const candidate = join(directory, 'mongod');
    try {
      await access(candidate, constants.X_OK);
      if (!(await stat(candidate)).isFile()) continue; // a directory with that name, such as the download directory
      return candidate;
    } catch {
      // Not found; try the next directory.
    }
  }
  return undefined;
}

function inTools(): string | undefined {
  try {
    const name = readdirSync(downloaded).find((file) => /^mongod-.*\d$/.test(file));
    return name === undefined ? undefined : join(downloaded, name);
  } catch {
    return undefined; // nothing was downloaded
  }
}

async function download(): Promise<string> {
  const directory = join(tools, 'mongod-download');
  await mkdir(directory, { recursive: true });
  const install = ['install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', directory];
  const script =
    `require('${DOWNLOADER}').MongoBinary.getPath({ downloadDir: ${JSON.stringify(downloaded)} })` +
    `.then(console.log, (error) => { console.error(error.message); process.exit(1); })`;
  try {
    await run('npm', [...install, `${DOWNLOADER}@${DOWNLOADER_VERSION}`], { timeout: DOWNLOAD_MS });
    const { stdout } = await run(process.execPath, ['-e', script], { cwd: directory, timeout: DOWNLOAD_MS });
    return stdout.trim();
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const written = 'stderr' in error && typeof error.stderr === 'string' ? error.stderr.trim() : '';
  return (written === '' ? error.message : written).split('\n').at(-1) ?? error.message;
}
