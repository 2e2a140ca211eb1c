import { pause, type Clock } from '@switchyard/service-kit';

/** Interval at which a waiter reads a run that another replica advances. */
const POLL_INTERVAL_MS = 250;

/** Callers that wait for a run. */
export interface RunWaiters {
  /** Wakes the callers that wait for a run. */
  notify(runId: string): void;
  /** Returns the first result of `read` for which `isDone` is true, or the last one when the time is over. */
  wait<T>(runId: string, options: WaitOptions<T>): Promise<T>;
}

export interface WaitOptions<T> {
  read: () => Promise<T>;
  isDone: (result: T) => boolean;
  waitMs: number;
  signal?: AbortSignal;
}

export function createRunWaiters(clock: Clock): RunWaiters {
  const listeners = new Map<string, Set<() => void>>();

  /** Resolves after a change of the run here, or after the poll interval. */
  async function waitForChange(runId: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = listeners.get(runId) ?? new Set();
    listeners.set(runId, waiting.add(resolve));
    await Promise.race([promise, pause(clock, POLL_INTERVAL_MS)]);
    waiting.delete(resolve);
    if (waiting.size === 0) listeners.delete(runId);
  }

  return {
    notify(runId) {
      for (const resolve of listeners.get(runId) ?? []) resolve();
    },
    async wait(runId, { read, isDone, waitMs, signal }) {
      const until = clock.now() + waitMs;
      for (;;) {
        const changed = waitForChange(runId);
        const result = await read();
        if (isDone(result) || clock.now() >= until || signal?.aborted === true) return result;
        await changed;
      }
    },
  };
}
