export interface WriteBatchOptions {
  /** Schedules the write: `setImmediate` for the end of the event-loop turn, `process.nextTick` for the end of the callback. */
  defer: (write: () => void) => void;
  /** Items that are written immediately when this many are waiting. */
  maxItems: number;
}

/** For responses of the gateway itself, which are created one by one while requests are read. */
export const LOCAL_RESPONSES: WriteBatchOptions = { defer: setImmediate, maxItems: 64 };
/** For responses from the bus, which arrive together. Small batches let clients continue in the meantime. */
export const FORWARDED_RESPONSES: WriteBatchOptions = { defer: (callback) => process.nextTick(callback), maxItems: 8 };

/**
 * Collects items and writes them together, in order. Consecutive writes to many sockets cost about half of writes with work between
 * them, because the reading process is woken once.
 */
export function createWriteBatch<T>({ defer, maxItems }: WriteBatchOptions, write: (item: T) => void): (item: T) => void {
  let pending: T[] = [];

  function release(): void {
    const items = pending;
    pending = [];
    for (const item of items) write(item);
  }

  return (item) => {
    const count = pending.push(item);
    if (count === 1) defer(release);
    else if (count >= maxItems) release();
  };
}
