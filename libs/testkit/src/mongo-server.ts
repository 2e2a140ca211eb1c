import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { dropDatabases, makeReplicaSet } from './mongo-admin.ts';
import { findMongo, type MongoProgram } from './mongo-server-binary.ts';

const START_MS = 30_000;
const POLL_MS = 10;
/** Somebody else may take the free port before the server does. */
const ATTEMPTS = 5;

export interface MongoServer {
  /** Names databases that are nobody else's: the path begins their names. */
  readonly url: string;
  /** What it is, for a reader of a test run. */
  readonly name: string;
  /** MongoDB itself, with users, `$jsonSchema` and write concern; else a stand-in, which has single documents and no more. */
  readonly real: boolean;
  /** Removes what was stored under the URL, and ends the server if it was started for it. */
  stop(): Promise<void>;
}

/** A server of one's own, to be hurt. */
export interface OwnMongoServer extends MongoServer {
  readonly port: number;
  readonly pid: number;
  /** Ends it at once, as a crash would; what was stored stays. */
  kill(): Promise<void>;
  /** The same server again on the same port, with what it has stored. */
  restart(): Promise<void>;
  /** It still takes connections and answers nothing until it goes on. */
  pause(): void;
  goOn(): void;
}

export interface OwnMongoOptions {
  /** Keeps what is stored there; otherwise it goes with the server. */
  directory?: string;
  port?: number;
}

let announced: string | undefined;

/** The server of `SWITCHYARD_TEST_MONGO_URL`, or one started for the caller. Says which, once. */
export async function startMongo(): Promise<MongoServer> {
  const given = process.env['SWITCHYARD_TEST_MONGO_URL'];
  if (given === undefined || given === '') return startOwnMongo();
  const url = new URL(given);
  const prefix = `test-${randomBytes(6).toString('hex')}`;
  url.pathname = `/${prefix}`;
  announce('the server of SWITCHYARD_TEST_MONGO_URL');
  return { url: url.href, name: url.host, real: true, stop: () => dropDatabases(given, `${prefix}_`) };
}

/** What `findMongo` finds, on a free port of 127.0.0.1 unless one is named. It ends with this process. */
export async function startOwnMongo({ directory, port: wanted }: OwnMongoOptions = {}): Promise<OwnMongoServer> {
  const program = await findMongo();
  announce(program.name);
  const data = directory ?? (await mkdtemp(join(tmpdir(), 'switchyard-mongo-')));
  const start = (port: number): Promise<ChildProcess> => launch(program, data, port);
  let { child, port } = wanted === undefined ? await onFreePort(start) : { child: await start(wanted), port: wanted };

  return {
    url: `mongodb://127.0.0.1:${port}/test${program.real ? '?replicaSet=rs0' : ''}`,
    name: program.name,
    real: program.real,
    port,
    get pid() {
      return child.pid ?? -1;
    },
    kill: () => end(child, 'SIGKILL'),
    async restart() {
      await end(child, 'SIGKILL');
      child = await start(port);
    },
    pause: () => void child.kill('SIGSTOP'),
    goOn: () => void child.kill('SIGCONT'),
    async stop() {
      await end(child, directory === undefined ? 'SIGKILL' : 'SIGTERM');
      if (directory === undefined) await rm(data, { recursive: true, force: true });
    },
  };
}

function announce(name: string): void {
  if (announced !== name) process.stderr.write(`MongoDB is ${name}\n`);
  announced = name;
}

async function onFreePort(start: (port: number) => Promise<ChildProcess>): Promise<{ child: ChildProcess; port: number }> {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    try {
      return { child: await start(port), port };
    } catch (error) {
      if (attempt === ATTEMPTS || !/address already in use/i.test(String(error))) throw error;
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function launch({ name, real, command, ready }: MongoProgram, directory: string, port: number): Promise<ChildProcess> {
  const [binary = '', ...options] = command(directory, port);
  // The stand-in ends when its input does, also when this process is killed.
  const child = spawn(binary, options, { stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.on('error', () => undefined);
  let output = '';
  const keep = (text: string): string => (output = (output + text).slice(-4_000));
  child.stdout.setEncoding('utf8').on('data', keep);
  child.stderr.setEncoding('utf8').on('data', keep);
  child.on('error', (error) => keep(error.message));
  const orphaned = () => child.kill('SIGKILL');
  process.once('exit', orphaned);
  child.once('exit', () => process.off('exit', orphaned));
  const deadline = Date.now() + START_MS;
  while (child.pid !== undefined && child.exitCode === null && child.signalCode === null && Date.now() < deadline) {
    if (ready.test(output)) {
      if (real) await makeReplicaSet(`mongodb://127.0.0.1:${port}`, deadline);
      return child;
    }
    await delay(POLL_MS);
  }
  await end(child, 'SIGKILL');
  throw new Error(`${name} did not start:\n${output}`);
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill(signal);
  await gone;
}
