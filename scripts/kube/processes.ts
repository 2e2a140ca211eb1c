import { execFileSync, spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { NAMESPACE } from './network.ts';
import { STATE } from './paths.ts';

const PIDS = join(STATE, 'pids');
const POLL_INTERVAL_MS = 200;
const END_TIMEOUT_MS = 15_000;

export interface Started {
  name: string;
  pid: number;
  /** File with the output. */
  log: string;
}

interface ProcessOptions {
  cwd?: string;
  env?: Readonly<Record<string, string>>;
  /** Runs it in the network namespace of the cluster. */
  inNamespace: boolean;
}

/** Starts a program that outlives this one, and records its id for `endProcesses`. */
export function startProcess(name: string, [file, ...args]: readonly [string, ...string[]], options: ProcessOptions): Started {
  const logs = join(STATE, 'log');
  mkdirSync(logs, { recursive: true });
  const log = join(logs, `${name}.log`);
  const output = openSync(log, 'a');
  const words = options.inNamespace ? enterNamespace(file, args) : [file, ...args];
  const [program = file, ...rest] = words;
  const child = spawn(program, rest, {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    detached: true,
    stdio: ['ignore', output, output],
  });
  child.unref();
  const pid = child.pid ?? 0;
  if (pid === 0) throw new Error(`${file} could not be started`);
  appendFileSync(PIDS, `${pid} ${name}\n`);
  return { name, pid, log };
}

/** `nsenter` replaces itself by the program, so the id stays that of the program. */
function enterNamespace(file: string, args: readonly string[]): string[] {
  return ['nsenter', `--net=/run/netns/${NAMESPACE}`, file, ...args];
}

/** Runs a program to its end and returns its output. */
export function run(file: string, args: readonly string[], options: { cwd?: string; inNamespace?: boolean } = {}): string {
  const [program = file, ...rest] = options.inNamespace ? enterNamespace(file, args) : [file, ...args];
  return execFileSync(program, rest, { cwd: options.cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 1 << 26 });
}

/** Waits until `check` is true. Throws with the end of the log if the process ends before, or at the timeout. */
export async function awaitReady({ name, pid, log }: Started, check: () => boolean, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!tryTo(check)) {
    if (!isAlive(pid)) throw new Error(`${name} ended:\n${tail(log)}`);
    if (performance.now() > deadline) throw new Error(`${name} was not ready after ${timeoutMs / 1_000} s:\n${tail(log)}`);
    await sleep(POLL_INTERVAL_MS);
  }
}

/** Ends all recorded processes, the latest first. */
export async function endProcesses(): Promise<string[]> {
  if (!existsSync(PIDS)) return [];
  const recorded = readFileSync(PIDS, 'utf8').trim().split('\n').reverse();
  const ended: string[] = [];
  for (const line of recorded) {
    const [id, name = ''] = line.split(' ');
    const pid = Number(id);
    if (!isAlive(pid)) continue;
    process.kill(pid, 'SIGTERM');
    const deadline = performance.now() + END_TIMEOUT_MS;
    while (isAlive(pid)) {
      if (performance.now() > deadline) process.kill(pid, 'SIGKILL');
      await sleep(POLL_INTERVAL_MS);
    }
    ended.push(name);
  }
  return ended;
}

function isAlive(pid: number): boolean {
  try {
    // A zombie still has an id; its command line is empty.
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== '';
  } catch {
    return false;
  }
}

function tail(log: string): string {
  return readFileSync(log, 'utf8').trimEnd().split('\n').slice(-5).join('\n');
}

function tryTo(check: () => boolean): boolean {
  try {
    return check();
  } catch {
    return false;
  }
}
