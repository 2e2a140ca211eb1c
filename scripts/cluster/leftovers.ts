import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { RunningProcess } from '@switchyard/contracts';
import { getProgram } from './services.ts';

const run = promisify(execFile);
const POLL_MS = 50;

/** Returns processes that a killed launcher left behind. A process id that was reused by another program does not count. */
export async function findLeftovers(processes: readonly RunningProcess[]): Promise<RunningProcess[]> {
  const alive = await Promise.all(processes.map(async (one) => ((await isStill(one)) ? [one] : [])));
  return alive.flat().filter(({ pid }) => pid !== process.pid);
}

/** Sends SIGTERM, and SIGKILL after the grace period. Resolves when all processes are gone. */
export async function endLeftovers(remainingItems: readonly RunningProcess[], graceMs: number): Promise<void> {
  const deadline = performance.now() + graceMs;
  for (const { pid } of remainingItems) signal(pid, 'SIGTERM');
  for (const { pid } of remainingItems) {
    while (signal(pid, 0)) {
      if (performance.now() > deadline) signal(pid, 'SIGKILL');
      await sleep(POLL_MS);
    }
  }
}

/** Compares the command of a process with the run file, because process ids are reused. */
export async function isStill({ pid, service, ports }: RunningProcess): Promise<boolean> {
  try {
    const { stdout } = await run('ps', ['-ww', '-o', 'command=', '-p', String(pid)]);
    const words = stdout.split(/[\s:]+/);
    const program = getProgram(service);
    return (
      words.some((word) => program === word || program.endsWith(`/${word}`)) ||
      Object.values(ports).some((port) => words.includes(String(port)))
    );
  } catch {
    return false; // no process has that id
  }
}

/** False when there is no such process. */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}
