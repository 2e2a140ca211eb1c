import { Worker } from 'node:worker_threads';
import { ServiceError } from '@switchyard/contracts';
import type { SearchIndex, SearchIndexOptions, SearchOperations } from './search-index.ts';
import type { SearchReply, SearchRequest, SearchWorkerOptions } from './search-worker.ts';

interface PendingRequest {
  resolve: (value: never) => void;
  reject: (error: ServiceError) => void;
}

/** Opens the first index below `dir` that no other process uses, in a worker thread. */
export function openSearchIndex(dir: string, options: SearchIndexOptions): SearchIndex {
  const workerData: SearchWorkerOptions = { dir, ...options };
  const worker = new Worker(new URL('./search-worker.ts', import.meta.url), { workerData, name: 'search' });
  // An idle index does not keep the process running. Its file is consistent after every transaction.
  worker.unref();
  const pending = new Map<number, PendingRequest>();
  let [nextId, alive] = [0, true];

  function end(reason: ServiceError): void {
    alive = false;
    for (const { reject } of pending.values()) reject(reason);
    pending.clear();
  }

  worker.on('message', ({ id, ...reply }: SearchReply) => {
    const request = pending.get(id);
    pending.delete(id);
    // Set before the rejection, so that the caller can open the index again at once.
    if (reply.failure !== undefined && reply.damaged) alive = false;
    if (reply.failure === undefined) request?.resolve(reply.value as never);
    else request?.reject(unavailable(reply.failure));
    if (pending.size === 0) worker.unref();
  });
  worker.on('error', (error) => end(unavailable(error.message)));
  worker.on('exit', () => end(unavailable('it is closed')));

  function send(operation: SearchRequest['operation'], ...args: readonly unknown[]): Promise<never> {
    if (!alive) return Promise.reject(unavailable('it is closed'));
    const { promise, resolve, reject } = Promise.withResolvers<never>();
    const id = nextId++;
    pending.set(id, { resolve, reject });
    worker.ref();
    worker.postMessage({ id, operation, args } satisfies SearchRequest, []);
    return promise;
  }

  const remote = <N extends keyof SearchOperations>(name: N) =>
    ((...args: readonly unknown[]) => send(name, ...args)) as (
      ...args: Parameters<SearchOperations[N]>
    ) => Promise<ReturnType<SearchOperations[N]>>;
  return {
    get alive() {
      return alive;
    },
    getPosition: remote('getPosition'),
    apply: remote('apply'),
    clear: remote('clear'),
    search: remote('search'),
    list: remote('list'),
    has: remote('has'),
    stats: remote('stats'),
    findLargeGroups: remote('findLargeGroups'),
    findSimilar: remote('findSimilar'),
    async [Symbol.asyncDispose]() {
      if (!alive) return;
      await send('close').catch(() => undefined);
      await worker.terminate();
    },
  };
}

function unavailable(reason: string): ServiceError {
  return new ServiceError('UNAVAILABLE', `The search index is not available: ${reason}.`);
}
