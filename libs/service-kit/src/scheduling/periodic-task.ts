import type { Clock } from './clock.ts';

export interface Interval {
  clock: Pick<Clock, 'every'>;
  ms: number;
  /** Told what the work failed with, unless that is because it is closed. */
  failed: (error: unknown) => void;
}

/** Work that is done again and again, never twice at once. Disposing tells it to stop, and waits until it has. */
export function atIntervals({ clock, ms, failed }: Interval, work: (closed: () => boolean) => Promise<void>): AsyncDisposable {
  let [busy, closed] = [false, false];
  let working: Promise<void> = Promise.resolve();
  const stop = clock.every(ms, () => {
    if (busy || closed) return;
    busy = true;
    working = work(() => closed)
      .catch((error: unknown) => void (closed || failed(error)))
      .finally(() => (busy = false));
  });
  return {
    async [Symbol.asyncDispose]() {
      closed = true;
      stop();
      await working;
    },
  };
}
