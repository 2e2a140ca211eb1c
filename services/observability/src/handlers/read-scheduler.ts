/** Reads that are started in one turn of the event loop. The others wait for the next turns, in order. */
const READS_PER_TURN = 16;

type Read = (params: never, ctx: never) => unknown;

/** Returns a handler that is started when its turn has come. */
export type ReadScheduler = <H extends Read>(handler: H) => H;

/**
 * Spreads reads over turns of the event loop. A read of SQLite blocks the event loop, and ingest writes once in a turn, so that a thousand
 * reads that arrive together would delay each write of ingest by all of them.
 */
export function createReadScheduler(readsPerTurn = READS_PER_TURN): ReadScheduler {
  const waiting: (() => void)[] = [];
  let started = 0;
  let isScheduled = false;

  function scheduleTurn(): void {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(beginTurn);
  }

  function beginTurn(): void {
    isScheduled = false;
    const reads = waiting.splice(0, readsPerTurn);
    started = reads.length;
    if (started > 0) scheduleTurn();
    for (const start of reads) start();
  }

  return <H extends Read>(handler: H) =>
    ((params: never, ctx: never) => {
      scheduleTurn();
      if (started < readsPerTurn) {
        started += 1;
        return handler(params, ctx);
      }
      return new Promise<void>((resolve) => waiting.push(resolve)).then(() => handler(params, ctx));
    }) as H;
}
