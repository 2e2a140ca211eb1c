/** Runs tasks with a limit. Tenants take turns, so that many tasks of one tenant delay each task of another by one place only. */
export interface FairLimiter {
  /** Waits for a place and runs the task. Rejects with the reason of the signal if it aborts before the task starts. */
  run<T>(tenant: string, signal: AbortSignal, task: () => Promise<T>): Promise<T>;
}

export function createFairLimiter(max: () => number): FairLimiter {
  let running = 0;
  // A Map keeps the order of insertion: a tenant that was served goes to the end.
  const waiting = new Map<string, (() => void)[]>();

  function startNext(): void {
    while (running < max()) {
      const [next] = waiting;
      if (next === undefined) return;
      const [tenant, queue] = next;
      const start = queue.shift();
      waiting.delete(tenant);
      if (queue.length > 0) waiting.set(tenant, queue);
      running += 1;
      start?.();
    }
  }

  function leave(tenant: string, start: () => void): void {
    const queue = waiting.get(tenant) ?? [];
    const at = queue.indexOf(start);
    if (at >= 0) queue.splice(at, 1);
    if (queue.length === 0) waiting.delete(tenant);
  }

  async function enter(tenant: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const abort = (): void => {
      leave(tenant, resolve);
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', abort, { once: true });
    waiting.set(tenant, [...(waiting.get(tenant) ?? []), resolve]);
    // The queue holds this very function, so that an aborted caller can leave it.
    startNext();
    await promise.finally(() => signal.removeEventListener('abort', abort));
  }

  return {
    async run(tenant, signal, task) {
      await enter(tenant, signal);
      try {
        return await task();
      } finally {
        running -= 1;
        startNext();
      }
    },
  };
}
