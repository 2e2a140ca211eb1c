import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { endWithParent } from '../processes/parent-guard.ts';
import { findNatsServer } from './nats-binary.ts';
import { readSharedServers } from './shared-servers.ts';

const START_MS = 10_000;
const POLL_MS = 10;

export interface NatsServer {
  readonly url: string;
  readonly port: number;
  /** Kills the server like a crash. Its data stays. */
  kill(): Promise<void>;
  /** Kills and starts the server on the same port, with the same data unless `empty` is true. */
  restart(options?: { empty?: boolean }): Promise<void>;
  /** Stops the server and removes its data. */
  stop(): Promise<void>;
}

export interface NatsServerOptions {
  /** In bytes; 8 MB by default, which the bus expects. */
  maxPayload?: number;
  /** Maximum reservation of all streams together, in memory and in files. */
  storage?: string;
  /** Additional configuration, such as users. */
  configuration?: string;
  /** A configuration file that replaces the generated one. The address and the store directory `$NATS_STORE` are set by the test. */
  file?: string;
  /** Variables that the configuration uses as `$NAME`. */
  env?: Readonly<Record<string, string>>;
}

/** Starts a real nats-server with JetStream on a free port of 127.0.0.1 with its own data directory. */
export async function startNatsServer(options: NatsServerOptions = {}): Promise<NatsServer> {
  const { maxPayload = 8 * 1024 * 1024, storage = '4GB', configuration = '', file, env = {} } = options;
  const binary = await findNatsServer();
  const directory = await mkdtemp(join(tmpdir(), 'switchyard-nats-'));
  const store = join(directory, 'store');
  const config = file ?? join(directory, 'nats.conf');
  if (file === undefined)
    await writeFile(
      config,
      `max_payload: ${maxPayload}\njetstream { store_dir: $NATS_STORE, max_mem: ${storage}, max_file: ${storage} }\n${configuration}`,
    );
  let { child, port } = await launch(binary, { directory, store, config, env, port: -1 });
  const kill = () => end(child, 'SIGKILL');

  return {
    url: `nats://127.0.0.1:${port}`,
    port,
    kill,
    async restart({ empty = false } = {}) {
      await kill();
      if (empty) await rm(store, { recursive: true, force: true });
      ({ child } = await launch(binary, { directory, store, config, env, port }));
    },
    async stop() {
      await end(child, 'SIGTERM');
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** A server with an account per name. The account's user and password are its name. Accounts do not see each other's messages. */
export function startNatsForAccounts(names: readonly string[]): Promise<NatsServer> {
  const accounts = names.map((name) => `  ${name} { jetstream: enabled, users: [{ user: ${name}, password: ${name} }] }`);
  return startNatsServer({ configuration: `accounts {\n${accounts.join('\n')}\n}`, storage: '1TB' });
}

let opened = 0;

/** NATS for tests that neither stop nor configure it: an unused account on the server of the test run, else a server of its own. */
export async function openNats(): Promise<Pick<NatsServer, 'url' | 'stop'>> {
  const url = readSharedServers()?.nats[opened];
  opened += 1;
  return url === undefined ? startNatsServer() : { url, stop: () => Promise.resolve() };
}

interface Launch {
  directory: string;
  store: string;
  config: string;
  env: Readonly<Record<string, string>>;
  /** -1 selects a free port. */
  port: number;
}

async function launch(binary: string, { directory, store, config, env, port }: Launch): Promise<{ child: ChildProcess; port: number }> {
  const arguments_ = ['-c', config, '-a', '127.0.0.1', '-p', String(port), '--ports_file_dir', directory];
  const child = spawn(binary, arguments_, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env['PATH'], NATS_STORE: store, ...env },
  });
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-4_000)));
  endWithParent(child);
  const deadline = Date.now() + START_MS;
  while (child.exitCode === null && child.signalCode === null && Date.now() < deadline) {
    const matchCount = output.includes('Server is ready') ? await readPort(directory, child.pid) : undefined;
    if (matchCount !== undefined) return { child, port: matchCount };
    await delay(POLL_MS);
  }
  await end(child, 'SIGKILL');
  throw new Error(`nats-server did not start:\n${output}`);
}

/** Reads the port from the ports file, which the server names after its program and process id. */
async function readPort(directory: string, pid: number | undefined): Promise<number | undefined> {
  const name = (await readdir(directory)).find((file) => file.endsWith(`_${pid}.ports`));
  if (name === undefined) return undefined;
  const text = await readFile(join(directory, name), 'utf8');
  const match = /"nats":\s*\[\s*"[^"]*:(\d+)"/.exec(text);
  return match === null ? undefined : Number(match[1]);
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => {
    child.once('exit', resolve);
  });
  child.kill(signal);
  await gone;
}
