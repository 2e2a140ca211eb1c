import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseRunFile, type RunFile } from '@switchyard/contracts';

/** The run file of a data directory. One that is missing says as little as one of another shape. */
export function readRunFile(data: string): RunFile | undefined {
  try {
    return parseRunFile(readFileSync(join(data, 'run.json'), 'utf8'));
  } catch {
    return undefined;
  }
}

/** Whether the process is there. One of another user is, though it may not be signalled. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
