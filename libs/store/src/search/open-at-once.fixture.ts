import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { openIndexWork } from './index-work.ts';

// Threads that do the same at the same moment, again and again: open an index below a directory, write to it, look for what they wrote.

export interface AtOnce {
  dir: string;
  rounds: number;
  threads: number;
  /** How many have come to each place where they wait for each other. */
  arrived: Int32Array<SharedArrayBuffer>;
  name: string;
}

const { dir, rounds, threads, arrived, name } = workerData as AtOnce;
const entry = { tenant: 't', group: 'g', owner: '', kind: 'semantic', trust: 'learned', tags: [], session: '', id: name, text: name };
const failed: string[] = [];

/** Goes on when all are there. */
function meet(place: number): void {
  Atomics.add(arrived, place, 1);
  while (Atomics.load(arrived, place) < threads) continue;
}

for (let round = 0; round < rounds; round += 1) {
  meet(2 * round);
  let work: ReturnType<typeof openIndexWork> | undefined;
  try {
    work = openIndexWork(join(dir, String(round)), { identity: 'ours', cachedVectors: 0 });
    work.apply([{ ...entry, bytes: 1, createdAt: 1, expiresAt: undefined, version: 1 }], 1);
    const { ids } = work.list({ tenant: 't', now: 0, oldestFirst: true, offset: 0, limit: threads });
    if (ids.join() !== name) failed.push(`round ${round}: ${name} has ${ids.join()}`);
  } catch (error) {
    failed.push(`round ${round}: ${name}: ${String(error)}`);
  }
  // Nobody closes before all have opened.
  meet(2 * round + 1);
  work?.[Symbol.dispose]();
}
parentPort?.postMessage(failed, []);
