import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { endWithParent } from './parent-guard.ts';

const POLL_MS = 10;
/** Another process may take the free port before the server does. */
const ATTEMPTS = 5;
const TAIL = 4_000;

/** The command of a server on a port of 127.0.0.1. */
export interface ServerProgram {
  /** Name for error messages. */
  name: string;
  command: (port: number) => readonly string[];
  /** Output that shows that the server accepts connections. */
  ready: RegExp;
  startMs: number;
  /** Runs before the server is used. */
  prepare?: (port: number, deadline: number) => Promise<void>;
}

/** A server for failure tests. It is killed when this process ends. */
export interface ServerProcess {
  readonly port: number;
  readonly pid: number;
  /** Kills the server like a crash. */
  kill(): Promise<void>;
  /** Kills and starts the server on the same port. */
  restart(): Promise<void>;
  /** Suspends the server: it accepts connections but does not respond until `goOn`. */
  pause(): void;
  goOn(): void;
  end(signal: NodeJS.Signals): Promise<void>;
}

/** Starts a server on the given or a free port. Resolves once it can be used. */
export async function startServer(program: ServerProgram, requestedCount?: number): Promise<ServerProcess> {
  let { child, port } =
    requestedCount === undefined ? await onFreePort(program) : { child: await launch(program, requestedCount), port: requestedCount };
  return {
    port,
    get pid() {
      return child.pid ?? -1;
    },
    kill: () => end(child, 'SIGKILL'),
    async restart() {
      await end(child, 'SIGKILL');
      child = await launch(program, port);
    },
    pause: () => void child.kill('SIGSTOP'),
    goOn: () => void child.kill('SIGCONT'),
    end: (signal) => end(child, signal),
  };
}

/** Returns a port that is currently free. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function onFreePort(program: ServerProgram): Promise<{ child: ChildProcess; port: number }> {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    try {
      return { child: await launch(program, port), port };
    } catch (error) {
      if (attempt === ATTEMPTS || !/address already in use/i.test(String(error))) throw error;
    }
  }
}

async function launch({ name, command, ready, startMs, prepare }: ServerProgram, port: number): Promise<ChildProcess> {
  const [binary = '', ...options] = command(port);
  // Programs that read their input exit when it closes, also if this process is killed.
  const child = spawn(binary, options, { stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.on('error', () => undefined);
  let output = '';
  const keep = (text: string): string => (output = (output + text).slice(-TAIL));
  child.stdout.setEncoding('utf8').on('data', keep);
  child.stderr.setEncoding('utf8').on('data', keep);
  child.on('error', (error) => keep(error.message));
  endWithParent(child);
  const deadline = Date.now() + startMs;
  while (isRunning(child) && Date.now() < deadline) {
    if (ready.test(output)) {
      await prepare?.(port, deadline);
      return child;
    }
    await delay(POLL_MS);
  }
  await end(child, 'SIGKILL');
  throw new Error(`${name} did not start:\n${output}`);
}

function isRunning(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (!isRunning(child)) return;
  const gone = once(child, 'exit');
  child.kill(signal);
  await gone;
}
