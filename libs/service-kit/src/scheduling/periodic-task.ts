import type { Clock } from './clock.ts';

export interface Interval {
  clock: Pick<Clock, 'every'>;
  ms: number;
  /** Receives the error of a failed run; not called once the task is closed. */
  failed: (error: unknown) => void;
}

/** Runs the work every `ms`; runs never overlap. Disposing stops the timer and waits for the current run. */
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
