import { spawn } from 'node:child_process';
import { appendFileSync, closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { STATE } from './paths.ts';
import { insideNetwork } from './network.ts';

const LIST = join(STATE, 'processes');
const LOGS = join(STATE, 'logs');
const POLL_MS = 50;
const KILL_AFTER_MS = 10_000;
/** Fields of /proc/<pid>/stat after the name of the program, which may contain spaces. */
const START_TIME_FIELD = 19;

/** A process that `make kube` started. The start time tells it from a later process with the same id. */
interface StartedProcess {
  pid: number;
  startTime: string;
  name: string;
}

/** Starts a program inside the network namespace, which outlives this one. Records it for `make kube-stop`, and writes its output to a log. */
export function startProcess(name: string, command: readonly string[], env: NodeJS.ProcessEnv = {}): number {
  mkdirSync(LOGS, { recursive: true });
  const log = openSync(join(LOGS, `${name}.log`), 'a');
  const [file = '', ...args] = insideNetwork(command);
  const child = spawn(file, args, { detached: true, stdio: ['ignore', log, log], env: { ...process.env, ...env }, cwd: '/' });
  closeSync(log);
  if (child.pid === undefined) throw new Error(`${name} did not start: ${command.join(' ')}`);
  appendFileSync(LIST, `${child.pid} ${getStartTime(child.pid)} ${name}\n`);
  child.unref();
  return child.pid;
}

/** Returns the processes that run, in the order of their start. */
export function listProcesses(): StartedProcess[] {
  return readLines(LIST)
    .map((line) => {
      const [pid = '', startTime = '', name = ''] = line.split(' ');
      return { pid: Number(pid), startTime, name };
    })
    .filter(isRunning);
}

/** Ends processes together, at the latest with SIGKILL. Resolves when they are gone. */
export async function endProcesses(processes: readonly StartedProcess[]): Promise<void> {
  const deadline = performance.now() + KILL_AFTER_MS;
  for (const { pid } of processes) signal(pid, 'SIGTERM');
  for (const one of processes) {
    while (isRunning(one)) {
      if (performance.now() > deadline) signal(one.pid, 'SIGKILL');
      await sleep(POLL_MS);
    }
  }
}

/** Throws with the end of the log if the process has ended. */
export function assertRunning(name: string): void {
  if (listProcesses().some((one) => one.name === name)) return;
  const lines = readLines(join(LOGS, `${name}.log`));
  throw new Error(`${name} has ended. Its log is in ${LOGS}:\n${lines.slice(-3).join('\n')}`);
}

/** Sends a signal. A process that has ended meanwhile is no error. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function isRunning({ pid, startTime }: StartedProcess): boolean {
  return getStartTime(pid) === startTime;
}

/** Clock ticks between the start of the machine and of the process. Empty if there is no such process, or it waits to be reaped. */
function getStartTime(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? '' : (fields[START_TIME_FIELD] ?? '');
  } catch {
    return '';
  }
}

function readLines(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n').filter(Boolean);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
