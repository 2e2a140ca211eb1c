import type { FileClass } from './classify-file.ts';

/** Test files that run in one process. */
export interface Unit {
  files: readonly string[];
  class: FileClass;
  /** How long the unit takes, by earlier runs or by its class. */
  expectedMs: number;
}

export interface PlanOptions {
  classify: (file: string) => FileClass;
  /** Duration of a file in an earlier run. */
  getDuration: (file: string) => number | undefined;
  shard?: { index: number; count: number } | undefined;
}

const MAX_BATCH_FILES = 30;
const MAX_BATCH_MS = 20_000;
/** Durations of files that never ran here. */
const ESTIMATES_MS: Readonly<Record<FileClass, number>> = { shared: 300, own: 3_000, cluster: 30_000, alone: 60_000 };

interface Candidate {
  file: string;
  class: FileClass;
  expectedMs: number;
}

/** Groups the files of a run into units, longest first. Files of one package share a process, because they load the same modules. */
export function planUnits(files: readonly string[], { classify, getDuration: durationOf, shard }: PlanOptions): Unit[] {
  const candidates = files.map((file) => {
    const fileClass = classify(file);
    return { file, class: fileClass, expectedMs: durationOf(file) ?? ESTIMATES_MS[fileClass] };
  });
  const chosen = shard === undefined ? candidates : selectShard(candidates, shard);
  const alone = chosen.filter((one) => one.class !== 'shared').map(({ file, ...rest }): Unit => ({ files: [file], ...rest }));
  return [...alone, ...batches(chosen.filter((one) => one.class === 'shared'))].toSorted((a, b) => b.expectedMs - a.expectedMs);
}

/**
 * Deals the files of each class to the shards in turn. Recorded durations are not used: they differ between machines and change with
 * each run, so that a file could be in two shards or in none.
 */
function selectShard(candidates: readonly Candidate[], { index, count }: { index: number; count: number }): Candidate[] {
  const sorted = candidates.toSorted((a, b) => ESTIMATES_MS[b.class] - ESTIMATES_MS[a.class] || (a.file < b.file ? -1 : 1));
  return sorted.filter((_, position) => position % count === index - 1);
}

function batches(candidates: readonly Candidate[]): Unit[] {
  const units: Unit[] = [];
  for (const group of Map.groupBy(candidates, ({ file }) => file.split('/').slice(0, 2).join('/')).values()) {
    let batch: Candidate[] = [];
    const flush = (): void => {
      if (batch.length > 0) units.push({ files: batch.map(({ file }) => file), class: 'shared', expectedMs: sum(batch) });
      batch = [];
    };
    for (const candidate of group) {
      if (batch.length === MAX_BATCH_FILES || sum(batch) + candidate.expectedMs > MAX_BATCH_MS) flush();
      batch.push(candidate);
    }
    flush();
  }
  return units;
}

function sum(candidates: readonly Candidate[]): number {
  return candidates.reduce((total, { expectedMs }) => total + expectedMs, 0);
}
