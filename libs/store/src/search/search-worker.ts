import { parentPort, workerData } from 'node:worker_threads';
import { isDamaged } from './index-file.ts';
import { openSearchEngine } from './search-engine.ts';
import type { SearchIndexOptions, SearchOperations } from './search-index.ts';

// The worker thread of an index. It executes requests in order. Keep its imports few: a caller waits for it to start.

export interface SearchWorkerOptions extends SearchIndexOptions {
  dir: string;
}

export interface SearchRequest {
  id: number;
  operation: keyof SearchOperations | 'close';
  args: readonly unknown[];
}

/** `damaged` means that the file was corrupt and is deleted. The index is empty when it is opened again. */
export type SearchReply = { id: number; value: unknown; failure?: undefined } | { id: number; failure: string; damaged: boolean };

const { dir, ...options } = workerData as SearchWorkerOptions;
const engine = openSearchEngine(dir, options);

parentPort?.on('message', ({ id, operation, args }: SearchRequest) => {
  try {
    if (operation === 'close') engine[Symbol.dispose]();
    const value = operation === 'close' ? undefined : (engine[operation] as (...all: readonly unknown[]) => unknown)(...args);
    parentPort?.postMessage({ id, value } satisfies SearchReply, []);
    if (operation === 'close') parentPort?.close();
  } catch (error) {
    const damaged = isDamaged(error);
    if (damaged) engine.discard();
    parentPort?.postMessage({ id, failure: error instanceof Error ? error.message : String(error), damaged } satisfies SearchReply, []);
    if (damaged) parentPort?.close();
  }
});
