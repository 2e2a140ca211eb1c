import type { Db, Document } from 'mongodb';

const SAMPLE_COUNT = 5;
const MEASURE_INTERVAL_MS = 60_000;

/** The server's clock, as near as half the quickest round trip. */
export interface ServerClock {
  now: () => number;
  /** Measures again; keeps what it has when the server does not answer. */
  measure(): Promise<void>;
  stop(): void;
}

/**
 * Reads what the server says the time is, at once and every minute. In between time passes as this machine's monotonic clock says,
 * so that setting its wall clock moves no lease.
 */
export async function startServerClock(db: Db): Promise<ServerClock> {
  let offset = await measureOffset(db);
  const measure = async (): Promise<void> => {
    offset = await measureOffset(db).catch(() => offset);
  };
  const timer = setInterval(() => void measure(), MEASURE_INTERVAL_MS).unref();
  return { now: () => Math.floor(performance.now() + offset), measure, stop: () => clearInterval(timer) };
}

/** From our monotonic clock to the server's: of some answers the quickest counts, taken to be as old as half its way. */
async function measureOffset(db: Db): Promise<number> {
  let [best, offset] = [Infinity, 0];
  for (let sample = 0; sample < SAMPLE_COUNT; sample++) {
    const asked = performance.now();
    // `hello` says the same, but not every server that speaks the protocol knows it.
    const { localTime }: Document = await db.command({ isMaster: 1 });
    const answered = performance.now();
    if (answered - asked >= best) continue;
    best = answered - asked;
    offset = (localTime as Date).getTime() - (asked + answered) / 2;
  }
  return offset;
}
