import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

/**
 * Pins a process with all its threads to the first CPU and this process, which generates the load, to the others, until disposal. The
 * load then takes no CPU time from the measured process. Throws an Error if `taskset` or a second CPU is missing.
 */
export function pinToFirstCpu(pid: number): Disposable {
  const count = availableParallelism();
  if (count < 2) throw new Error('pinning the measured process apart from the load needs two CPUs');
  pin(pid, '0');
  pin(process.pid, `1-${count - 1}`);
  return { [Symbol.dispose]: () => pin(process.pid, `0-${count - 1}`) };
}

function pin(pid: number, processors: string): void {
  const { status, error } = spawnSync('taskset', ['--all-tasks', '--cpu-list', '--pid', processors, String(pid)]);
  if (status !== 0) throw new Error('processes are kept on processors with taskset of util-linux, which failed', { cause: error });
}
