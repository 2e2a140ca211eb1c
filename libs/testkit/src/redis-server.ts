import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findRedisServer } from './redis-server-binary.ts';

const START_MS = 10_000;
const POLL_MS = 10;
/** Somebody else may take the free port before the server does. */
const ATTEMPTS = 5;

export interface RedisServer {
  readonly url: string;
  readonly port: number;
  /** Ends it at once, as a crash would. */
  kill(): Promise<void>;
  /** The same server again on the same port; it kept nothing. */
  restart(): Promise<void>;
  /** It still takes connections and answers nothing until it goes on. */
  pause(): void;
  goOn(): void;
  stop(): Promise<void>;
}

export interface RedisServerOptions {
  /** What its default user must say. */
  password?: string;
}

/** A real redis-server on a free port of 127.0.0.1, in memory alone. */
export async function startRedisServer({ password = '' }: RedisServerOptions = {}): Promise<RedisServer> {
  const binary = await findRedisServer();
  const directory = await mkdtemp(join(tmpdir(), 'switchyard-redis-'));
  const start = (port: number): Promise<ChildProcess> => launch([binary, '--dir', directory, '--requirepass', password], port);
  let { child, port } = await onFreePort(start);

  return {
    url: `redis://${password === '' ? '' : `:${encodeURIComponent(password)}@`}127.0.0.1:${port}`,
    port,
    kill: () => end(child, 'SIGKILL'),
    async restart() {
      await end(child, 'SIGKILL');
      child = await start(port);
    },
    pause: () => void child.kill('SIGSTOP'),
    goOn: () => void child.kill('SIGCONT'),
    async stop() {
      await end(child, 'SIGKILL');
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function onFreePort(start: (port: number) => Promise<ChildProcess>): Promise<{ child: ChildProcess; port: number }> {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    try {
      return { child: await start(port), port };
    } catch (error) {
      if (attempt === ATTEMPTS || !String(error).includes('Address already in use')) throw error;
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

async function launch([binary = '', ...options]: readonly string[], port: number): Promise<ChildProcess> {
  const child = spawn(binary, ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', ...options], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-4_000)));
  const orphaned = () => child.kill('SIGKILL');
  process.once('exit', orphaned);
  child.once('exit', () => process.off('exit', orphaned));
  const deadline = Date.now() + START_MS;
  while (child.exitCode === null && child.signalCode === null && Date.now() < deadline) {
    if (output.includes('Ready to accept connections')) return child;
    await delay(POLL_MS);
  }
  await end(child, 'SIGKILL');
  throw new Error(`redis-server did not start:\n${output}`);
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill(signal);
  await gone;
}
