import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

/**
 * Gives the first processor to a process, with all of its threads, and the others to this one, which makes the load, until it is
 * disposed of: a load that is made of more requests takes nothing from what it measures. Throws a sentence where that cannot be.
 */
export function keepApart(pid: number): Disposable {
  const count = availableParallelism();
  if (count < 2) throw new Error('a load beside what it measures needs two processors');
  pin(pid, '0');
  pin(process.pid, `1-${count - 1}`);
  return { [Symbol.dispose]: () => pin(process.pid, `0-${count - 1}`) };
}

function pin(pid: number, processors: string): void {
  const { status, error } = spawnSync('taskset', ['--all-tasks', '--cpu-list', '--pid', processors, String(pid)]);
  if (status !== 0) throw new Error('processes are kept on processors with taskset of util-linux, which failed', { cause: error });
}
