import { setTimeout as wait } from 'node:timers/promises';

/** Resolves when the work settles or the time is over. */
export async function waitAtMost(ms: number, work: Promise<unknown>): Promise<void> {
  const over = new AbortController();
  const ended = work.then(
    () => undefined,
    () => undefined,
  );
  await Promise.race([ended, wait(ms, undefined, { signal: over.signal }).catch(() => undefined)]);
  over.abort();
}
