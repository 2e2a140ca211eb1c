import { Worker } from 'node:worker_threads';
import { ServiceError } from '@switchyard/contracts';
import { LOCAL_MODEL } from './hash-embedding.ts';
import type { IndexWork, SearchIndex, SearchIndexOptions } from './search-index.ts';
import type { Answer, Question, WorkerGiven } from './search-worker.ts';

interface Waiting {
  resolve: (value: never) => void;
  reject: (error: ServiceError) => void;
}

/** Opens an index in the first place below `dir` that no other process uses. */
export function openSearchIndex(dir: string, options: SearchIndexOptions): SearchIndex {
  const given: WorkerGiven = { dir, ...options };
  const worker = new Worker(new URL('./search-worker.ts', import.meta.url), { workerData: given, name: 'search' });
  // A process that has nothing else to do may end: the index is whole after each transaction.
  worker.unref();
  const waiting = new Map<number, Waiting>();
  let [asked, alive] = [0, true];

  function end(why: ServiceError): void {
    alive = false;
    for (const { reject } of waiting.values()) reject(why);
    waiting.clear();
  }

  worker.on('message', ({ n, ...answer }: Answer) => {
    const one = waiting.get(n);
    waiting.delete(n);
    // Known before anybody hears of it, so that who asks again opens it anew.
    if (answer.failed !== undefined && answer.over) alive = false;
    if (answer.failed === undefined) one?.resolve(answer.value as never);
    else one?.reject(unavailable(answer.failed));
    if (waiting.size === 0) worker.unref();
  });
  worker.on('error', (error) => end(unavailable(error.message)));
  worker.on('exit', () => end(unavailable('it was closed')));

  function ask(name: Question['ask'], ...given: readonly unknown[]): Promise<never> {
    if (!alive) return Promise.reject(unavailable('it was closed'));
    const { promise, resolve, reject } = Promise.withResolvers<never>();
    const n = asked++;
    waiting.set(n, { resolve: resolve, reject });
    worker.ref();
    worker.postMessage({ n, ask: name, given } satisfies Question, []);
    return promise;
  }

  const asking = <N extends keyof IndexWork>(name: N) =>
    ((...all: readonly unknown[]) => ask(name, ...all)) as (...all: Parameters<IndexWork[N]>) => Promise<ReturnType<IndexWork[N]>>;
  return {
    model: options.given?.name ?? LOCAL_MODEL.name,
    get alive() {
      return alive;
    },
    followedTo: asking('followedTo'),
    apply: asking('apply'),
    clear: asking('clear'),
    search: asking('search'),
    list: asking('list'),
    has: asking('has'),
    stats: asking('stats'),
    crowded: asking('crowded'),
    alike: asking('alike'),
    cacheStats: asking('cacheStats'),
    async [Symbol.asyncDispose]() {
      if (!alive) return;
      await ask('close').catch(() => undefined);
      await worker.terminate();
    },
  };
}

function unavailable(why: string): ServiceError {
  return new ServiceError('UNAVAILABLE', `The search index cannot be asked: ${why}.`);
}
