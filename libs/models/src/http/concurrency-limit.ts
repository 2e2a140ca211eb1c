import type { ServiceError } from '@switchyard/contracts';

export interface ConcurrencyLimits {
  /** Maximum number of concurrent calls. */
  maxRunning: number;
  /** Maximum number of waiting calls; further calls are rejected. */
  maxWaiting: number;
}

/** Limits concurrency. Waiting calls are admitted in order. */
export interface ConcurrencyLimit {
  /** Acquires a slot. Returns undefined if one is free immediately. Rejects with the signal's reason if it is aborted first. */
  acquire(signal: AbortSignal): Promise<void> | undefined;
  release(): void;
  readonly empty: boolean;
}

export function createConcurrencyLimit(
  { maxRunning, maxWaiting }: ConcurrencyLimits,
  createRejection: () => ServiceError,
): ConcurrencyLimit {
  const queue = new Set<() => void>();
  let running = 0;

  function wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const admit = (): void => {
        signal.removeEventListener('abort', abandon);
        resolve();
      };
      const abandon = (): void => {
        queue.delete(admit);
        reject(signal.reason as Error);
      };
      queue.add(admit);
      signal.addEventListener('abort', abandon, { once: true });
    });
  }

  return {
    acquire(signal) {
      if (running < maxRunning) {
        running += 1;
        return undefined;
      }
      if (queue.size >= maxWaiting) throw createRejection();
      return wait(signal);
    },
    release() {
      const [next] = queue;
      if (next === undefined) {
        running -= 1;
        return;
      }
      queue.delete(next);
      next();
    },
    get empty() {
      return running === 0 && queue.size === 0;
    },
  };
}
