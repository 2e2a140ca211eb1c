import { once } from 'node:events';
import { closeSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { OUTSIDE } from './hostile-paths.fixture.ts';
import { UnsafePathError } from './relative-path.ts';

export interface RaceCounts {
  inside: number;
  outside: number;
  refused: number;
  missing: number;
}

/** Opens the same files until `isOver`, while threads replace them and their directories by links to the outside. */
export async function raceOpens(
  { base, root, threads }: { base: string; root: string; threads: number },
  open: (path: string) => number,
  isOver: (counts: RaceCounts) => boolean,
): Promise<RaceCounts> {
  const swaps = join(base, 'swaps');
  mkdirSync(swaps);
  const pairs = [
    { entry: join(root, 'sub/deep'), link: join(swaps, 'deep'), target: join(base, 'root-sibling') },
    { entry: join(root, 'file'), link: join(swaps, 'file'), target: join(base, 'secret') },
  ];
  for (const { link, target } of pairs) symlinkSync(target, link);
  const workers = Array.from({ length: threads }, (_, index) => {
    const own = threads === 1 ? pairs : pairs.filter((_pair, at) => at % threads === index);
    return new Worker(new URL('racing-swap.fixture.ts', import.meta.url), { workerData: own.map(({ entry, link }) => [entry, link]) });
  });
  await Promise.all(workers.map((worker) => once(worker, 'message')));
  const counts: RaceCounts = { inside: 0, outside: 0, refused: 0, missing: 0 };
  try {
    while (!isOver(counts)) for (const path of ['sub/deep/secret', 'sub/deep/file', 'file']) counts[tryOpen(open, path)] += 1;
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
  return counts;
}

function tryOpen(open: (path: string) => number, path: string): keyof RaceCounts {
  try {
    const descriptor = open(path);
    try {
      return readFileSync(descriptor, 'utf8') === OUTSIDE ? 'outside' : 'inside';
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if (error instanceof UnsafePathError) return 'refused';
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'missing';
    throw error;
  }
}
