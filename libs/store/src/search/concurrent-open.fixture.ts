import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { openSearchEngine } from './search-engine.ts';

// A thread that opens an index below a directory at the same moment as other threads, writes an entry and lists the index, repeatedly.

export interface ConcurrentOpenOptions {
  dir: string;
  rounds: number;
  threads: number;
  /** Number of threads that have reached each barrier. */
  arrived: Int32Array<SharedArrayBuffer>;
  name: string;
}

const { dir, rounds, threads, arrived, name } = workerData as ConcurrentOpenOptions;
const entry = { tenant: 't', group: 'g', owner: '', kind: 'semantic', trust: 'learned', tags: [], session: '', id: name, text: name };
const failures: string[] = [];

/** Returns when all threads have reached the barrier. */
function waitAtBarrier(barrier: number): void {
  Atomics.add(arrived, barrier, 1);
  while (Atomics.load(arrived, barrier) < threads) continue;
}

for (let round = 0; round < rounds; round += 1) {
  waitAtBarrier(2 * round);
  let engine: ReturnType<typeof openSearchEngine> | undefined;
  try {
    engine = openSearchEngine(join(dir, String(round)), { identity: 'source' });
    engine.apply([{ ...entry, bytes: 1, createdAt: 1, expiresAt: undefined, version: 1 }], 1);
    const { ids } = engine.list({ tenant: 't', now: 0, oldestFirst: true, offset: 0, limit: threads });
    if (ids.join() !== name) failures.push(`round ${round}: ${name} has ${ids.join()}`);
  } catch (error) {
    failures.push(`round ${round}: ${name}: ${String(error)}`);
  }
  // No thread closes its index before all have opened theirs.
  waitAtBarrier(2 * round + 1);
  engine?.[Symbol.dispose]();
}
parentPort?.postMessage(failures, []);
