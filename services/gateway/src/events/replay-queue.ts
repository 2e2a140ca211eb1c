/** Reads at a time. */
const MAX_READS = 4;

/**
 * Orders the reads of clients that catch up, so that a thousand reconnecting clients do not keep the event loop or the bus busy: few reads
 * run at a time, tenants take turns, and other work runs between two reads.
 */
export interface ReplayQueue<T> {
  /** Reads from a sequence number on. Equal reads that wait or run at the same time are made once. */
  read(tenant: string, fromSeq: number): Promise<T>;
}

export function createReplayQueue<T>(readPage: (tenant: string, fromSeq: number) => Promise<T>): ReplayQueue<T> {
  const pending = new Map<string, Promise<T>>();
  /** Waiting reads by tenant. The tenant that is served next comes first. */
  const waiting = new Map<string, (() => Promise<unknown>)[]>();
  let running = 0;

  function startNext(): void {
    for (const [tenant, [first, ...rest]] of waiting) {
      if (running >= MAX_READS) return;
      waiting.delete(tenant);
      if (rest.length > 0) waiting.set(tenant, rest);
      running += 1;
      const finish = (): void => {
        running -= 1;
        startNext();
      };
      void first?.().finally(() => setImmediate(finish));
    }
  }

  return {
    read(tenant, fromSeq) {
      const key = `${fromSeq} ${tenant}`;
      const same = pending.get(key);
      if (same) return same;
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      pending.set(key, promise);
      const run = async (): Promise<void> => {
        try {
          resolve(await readPage(tenant, fromSeq));
        } catch (error) {
          reject(error);
        } finally {
          pending.delete(key);
        }
      };
      const queue = waiting.get(tenant);
      if (queue) queue.push(run);
      else waiting.set(tenant, [run]);
      startNext();
      return promise;
    },
  };
}
