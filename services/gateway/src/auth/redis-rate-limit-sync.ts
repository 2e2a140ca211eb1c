import type { Cache } from '@switchyard/cache';
import { parseCounts, SYNC_INTERVAL_MS, type RateLimitSync, type CounterReplication } from './rate-limit-sync.ts';

/** History that a starting gateway reads. Windows are rarely longer. */
const HISTORY_TTL_MS = 60_000;

/**
 * Exchanges counts with the other gateways through Redis. A gateway that starts or reconnects reads the counts of the last minute.
 * While Redis is unavailable counts are not exchanged, and requests do not wait for it.
 */
export async function syncRateLimitsOverCache(cache: Cache, { takeDelta, applyRemote }: CounterReplication): Promise<RateLimitSync> {
  const board = cache.board(['counted'], HISTORY_TTL_MS);
  let timer: NodeJS.Timeout | undefined;
  let ended = false;

  async function exchange(): Promise<void> {
    const counts = takeDelta();
    for (const { text, ageMs } of await board.exchange(counts === undefined ? undefined : JSON.stringify(counts))) {
      const received = parseCounts(text);
      if (received !== undefined && !ended) applyRemote(received, ageMs);
    }
  }

  async function run(): Promise<void> {
    await exchange();
    if (!ended) timer = setTimeout(() => void run(), SYNC_INTERVAL_MS).unref();
  }

  await run();
  return {
    schedule: () => undefined, // the timer runs all the time
    [Symbol.dispose]() {
      ended = true;
      clearTimeout(timer);
    },
  };
}
