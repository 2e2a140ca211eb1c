import { ServiceError } from '@switchyard/contracts';
import { explain } from './errors.ts';
import { createLanes } from './keyed-mutex.ts';
import { OPERATION_MS } from './timeouts.ts';

/** Of a document: the name of its collection, and its id; without an id there is nothing to wait for. */
export interface Lane {
  name: string;
  id: string | undefined;
}

export interface Operations {
  /** Runs within the time for an operation, and tells failures in our words. */
  run<T>(name: string, work: () => Promise<T>): Promise<T>;
  /** As run, once what was asked for before on this document has ended. */
  inLane<T>(lane: Lane, work: () => Promise<T>): Promise<T>;
  /** Takes no more, and waits for what runs. */
  end(): Promise<void>;
  /** How many run, or wait for their turn. */
  readonly size: number;
}

export function createOperations(): Operations {
  const lanes = createLanes();
  const running = new Set<Promise<unknown>>();
  let closed = false;

  function run<T>(name: string, work: () => Promise<T>): Promise<T> {
    if (closed) return Promise.reject(new ServiceError('UNAVAILABLE', 'the store is closed'));
    const done = inTime(work().catch((error: unknown) => Promise.reject(explain(name, error))));
    running.add(done);
    const leave = (): void => void running.delete(done);
    done.then(leave, leave);
    return done;
  }

  return {
    run,
    inLane: ({ name, id }, work) => run(name, () => (id === undefined ? work() : lanes.run(`${name}\n${id}`, work))),
    async end() {
      closed = true;
      await Promise.allSettled(running);
    },
    get size() {
      return running.size;
    },
  };
}

/** The driver bounds each step of its own; their sum, with repeating, is bounded here. What is late may still have been done. */
function inTime<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = (): void => reject(new ServiceError('DEADLINE_EXCEEDED', 'the database did not answer in time'));
    const timer = setTimeout(late, OPERATION_MS);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
