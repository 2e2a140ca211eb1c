import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { keepPrivately, readPrivately } from './data-directory.ts';

/** One process of those that run. */
export interface RunningProcess {
  service: string;
  replica: string;
  pid: number;
  ports: Readonly<Record<string, number>>;
  log: string;
}

/** What scripts read to learn what runs; rewritten when a process is started again. */
export interface RunFile {
  url: string;
  processes: readonly RunningProcess[];
}

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
  if (text === undefined) return undefined;
  try {
    const { url, processes } = JSON.parse(text) as Partial<RunFile>;
    return typeof url === 'string' && Array.isArray(processes) ? { url, processes } : undefined;
  } catch {
    return undefined; // of another program
  }
}
