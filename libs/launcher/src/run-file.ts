import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseRunFile, type RunFile } from '@switchyard/contracts';
import { keepPrivately, readPrivately } from './data-directory.ts';

/** Writes the run file. Disposing removes it. */
export interface RunFileWriter extends Disposable {
  /** Replaces the file atomically. */
  write(run: RunFile): void;
}

const NAME = 'run.json';

export function openRunFile(dir: string): RunFileWriter {
  return {
    write: (run) => keepPrivately(dir, NAME, JSON.stringify(run, null, 2)),
    [Symbol.dispose]: () => rmSync(join(dir, NAME), { force: true }),
  };
}

/** Reads the run file. It may be left over from a launcher that crashed, so callers check whether the processes are alive. */
export function readRunFile(dir: string): RunFile | undefined {
  const text = readPrivately(dir, NAME);
  return text === undefined ? undefined : parseRunFile(text);
}
