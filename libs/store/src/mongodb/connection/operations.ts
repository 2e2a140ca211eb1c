import { ServiceError } from '@switchyard/contracts';
import { translateError } from './errors.ts';
import { createKeyedMutex } from './keyed-mutex.ts';
import { OPERATION_TIMEOUT_MS } from './timeouts.ts';

/** Of a document: the name of its collection, and its id; without an id there is nothing to wait for. */
export interface DocumentKey {
  name: string;
  id: string | undefined;
}

export interface Operations {
  /** Runs within the time for an operation, and tells failures in our words. */
  run: <T>(name: string, work: () => Promise<T>) => Promise<T>;
  /** As run, once what was asked for before on this document has ended. */
  runInOrder: <T>(document: DocumentKey, work: () => Promise<T>) => Promise<T>;
  /** Takes no more, and waits for what runs. */
  close(): Promise<void>;
  /** How many run, or wait for their turn. */
  readonly size: number;
}

export function createOperations(): Operations {
  const lanes = createKeyedMutex();
  const running = new Set<Promise<unknown>>();
  let closed = false;

  function run<T>(name: string, work: () => Promise<T>): Promise<T> {
    if (closed) return Promise.reject(new ServiceError('UNAVAILABLE', 'the store is closed'));
    const done = withTimeout(work().catch((error: unknown) => Promise.reject(translateError(name, error))));
    running.add(done);
    const leave = (): void => void running.delete(done);
    done.then(leave, leave);
    return done;
  }

  return {
    run,
    runInOrder: ({ name, id }, work) => run(name, () => (id === undefined ? work() : lanes.run(`${name}\n${id}`, work))),
    async close() {
      closed = true;
      await Promise.allSettled(running);
    },
    get size() {
      return running.size;
    },
  };
}

/** The driver bounds each step of its own; their sum, with repeating, is bounded here. What is late may still have been done. */
function withTimeout<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = (): void => reject(new ServiceError('DEADLINE_EXCEEDED', 'the database did not answer in time'));
    const timer = setTimeout(late, OPERATION_TIMEOUT_MS);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
