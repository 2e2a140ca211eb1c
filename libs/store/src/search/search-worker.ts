import { parentPort, workerData } from 'node:worker_threads';
import { isDamaged } from './index-file.ts';
import { openIndexWork } from './index-work.ts';
import type { IndexWork, SearchIndexOptions } from './search-index.ts';

// The thread of an index: does what it is asked, one after the other, and answers under the number of the question. It loads nothing
// that it does not need: it is started when somebody waits for it.

export interface WorkerGiven extends SearchIndexOptions {
  dir: string;
}

export interface Question {
  n: number;
  ask: keyof IndexWork | 'close';
  given: readonly unknown[];
}

/** `over`: it was damaged and is no more; whoever opens it anew begins anew. */
export type Answer = { n: number; value: unknown; failed?: undefined } | { n: number; failed: string; over: boolean };

const { dir, ...options } = workerData as WorkerGiven;
const work = openIndexWork(dir, options);

parentPort?.on('message', ({ n, ask, given }: Question) => {
  try {
    if (ask === 'close') work[Symbol.dispose]();
    const value = ask === 'close' ? undefined : (work[ask] as (...all: readonly unknown[]) => unknown)(...given);
    parentPort?.postMessage({ n, value } satisfies Answer, []);
    if (ask === 'close') parentPort?.close();
  } catch (error) {
    const over = isDamaged(error);
    if (over) work.discard();
    parentPort?.postMessage({ n, failed: error instanceof Error ? error.message : String(error), over } satisfies Answer, []);
    if (over) parentPort?.close();
  }
});
