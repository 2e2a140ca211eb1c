import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Suite } from './options.ts';

/** Durations of files in earlier runs, in milliseconds. A file has one per suite: the full suite runs more of its tests. */
export interface Durations {
  get(file: string): number | undefined;
  set(file: string, ms: number): void;
  /** Writes the durations, of existing files only. */
  save(exists: (file: string) => boolean): void;
}

/** Opens the durations of a suite. A missing or broken file counts as empty: the order of a run is worth no error. */
export function openDurations(path: string, suite: Suite): Durations {
  const all = readAll(path);
  const known: Record<string, number> = (all[suite] ??= {});
  return {
    get: (file) => known[file],
    set(file, ms) {
      known[file] = Math.round(ms);
    },
    save(exists) {
      for (const file of Object.keys(known)) if (!exists(file)) delete known[file];
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, `${JSON.stringify(all, undefined, 1)}\n`);
    },
  };
}

function readAll(path: string): Partial<Record<Suite, Record<string, number>>> {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Partial<Record<Suite, Record<string, number>>>;
  } catch {
    return {};
  }
}
