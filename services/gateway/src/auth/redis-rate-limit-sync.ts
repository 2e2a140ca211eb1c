import type { Cache } from '@switchyard/cache';
import { readCounts, TELL_EVERY_MS, type Telling, type Told } from './rate-limit-sync.ts';

/** Whoever starts learns of what happened so lately; windows are rarely longer. */
const KEEP_MS = 60_000;

/**
 * Tells the others by notes in the cache, and looks for theirs. A gateway that starts reads what the others told before, and one that
 * was cut off what it missed. While the server of the cache is away nobody is told, and nobody waits for it but the next look.
 */
export async function tellOverCache(cache: Cache, { draw, hear }: Told): Promise<Telling> {
  const board = cache.board(['counted'], KEEP_MS);
  let looking: NodeJS.Timeout | undefined;
  let ended = false;

  async function exchange(): Promise<void> {
    const counts = draw();
    for (const { text, ageMs } of await board.exchange(counts === undefined ? undefined : JSON.stringify(counts))) {
      const told = readCounts(text);
      if (told !== undefined && !ended) hear(told, ageMs);
    }
  }

  async function go(): Promise<void> {
    await exchange();
    if (!ended) looking = setTimeout(() => void go(), TELL_EVERY_MS).unref();
  }

  await go();
  return {
    due: () => undefined, // it looks anyway
    [Symbol.dispose]() {
      ended = true;
      clearTimeout(looking);
    },
  };
}
