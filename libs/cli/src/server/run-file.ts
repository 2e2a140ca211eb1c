import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseRunFile, type RunFile } from '@switchyard/contracts';

/** Reads the run file of a data directory. Returns undefined if it is missing or invalid. */
export function readRunFile(data: string): RunFile | undefined {
  try {
    return parseRunFile(readFileSync(join(data, 'run.json'), 'utf8'));
  } catch {
    return undefined;
  }
}

/** Returns whether a process exists. EPERM means that it exists and belongs to another user. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
