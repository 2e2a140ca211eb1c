import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseRunFile, type RunFile } from '@switchyard/contracts';
import { keepPrivately, readPrivately } from './data-directory.ts';

/** Disposing removes the file: nothing runs here any more. */
export interface RunFileWriter extends Disposable {
  /** A reader sees the old one or this one, and never half of it. */
  write(run: RunFile): void;
}

const NAME = 'run.json';

export function openRunFile(dir: string): RunFileWriter {
  return {
    write: (run) => keepPrivately(dir, NAME, JSON.stringify(run, null, 2)),
    [Symbol.dispose]: () => rmSync(join(dir, NAME), { force: true }),
  };
}

/** What is said to run; also after a launcher that died, so whoever acts on it looks twice. */
export function readRunFile(dir: string): RunFile | undefined {
  const text = readPrivately(dir, NAME);
  return text === undefined ? undefined : parseRunFile(text);
}
