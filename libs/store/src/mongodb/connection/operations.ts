import { ServiceError } from '@switchyard/contracts';
import { translateError } from './errors.ts';
import { createKeyedMutex } from './keyed-mutex.ts';
import { OPERATION_TIMEOUT_MS } from './timeouts.ts';

/** A document that an operation accesses. Without an id the operation does not wait. */
export interface DocumentKey {
  name: string;
  id: string | undefined;
}

export interface Operations {
  /** Limits the time of an operation and translates its errors. */
  run: <T>(name: string, work: () => Promise<T>) => Promise<T>;
  /** Like `run`, after all earlier operations on the document. */
  runInOrder: <T>(document: DocumentKey, work: () => Promise<T>) => Promise<T>;
  /** Rejects new operations and waits for running ones. */
  close(): Promise<void>;
  /** Number of running and waiting operations. */
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

/** Limits the total time, including retries. The driver limits each step. An operation that timed out may still be executed. */
function withTimeout<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = (): void => reject(new ServiceError('DEADLINE_EXCEEDED', 'the database did not answer in time'));
    const timer = setTimeout(late, OPERATION_TIMEOUT_MS);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
