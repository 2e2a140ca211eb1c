import type { Db, Document } from 'mongodb';

const SAMPLE_COUNT = 5;
const MEASURE_INTERVAL_MS = 60_000;

/** The server's clock, accurate to half of the fastest round trip. */
export interface ServerClock {
  now: () => number;
  /** Measures the offset again; keeps the previous one if the server does not respond. */
  measure(): Promise<void>;
  stop(): void;
}

/**
 * Reads the server's time at the start and every minute. In between it uses the monotonic clock of this machine, so that a change of
 * the wall clock does not affect leases.
 */
export async function startServerClock(db: Db): Promise<ServerClock> {
  let offset = await measureOffset(db);
  const measure = async (): Promise<void> => {
    offset = await measureOffset(db).catch(() => offset);
  };
  const timer = setInterval(() => void measure(), MEASURE_INTERVAL_MS).unref();
  return { now: () => Math.floor(performance.now() + offset), measure, stop: () => clearInterval(timer) };
}

/** Returns the offset between the monotonic clock and the server. Uses the fastest of several responses and half of its round trip. */
async function measureOffset(db: Db): Promise<number> {
  let [best, offset] = [Infinity, 0];
  for (let sample = 0; sample < SAMPLE_COUNT; sample++) {
    const requestCount = performance.now();
    // `hello` also returns the time, but not every compatible server supports it.
    const { localTime }: Document = await db.command({ isMaster: 1 });
    const answeredCount = performance.now();
    if (answeredCount - requestCount >= best) continue;
    best = answeredCount - requestCount;
    offset = (localTime as Date).getTime() - (requestCount + answeredCount) / 2;
  }
  return offset;
}
