import type { ServiceError } from '@switchyard/contracts';

export interface GateLimits {
  /** How many may be inside at once. */
  inside: number;
  /** How many may wait to get in; who comes then is refused. */
  waiting: number;
}

/** Lets a bounded number in at once. Who waits gets in before whoever comes later. */
export interface Gate {
  /** Undefined: one is inside at once. Rejects with the signal's reason when that aborts first. */
  enter(signal: AbortSignal): Promise<void> | undefined;
  leave(): void;
  readonly empty: boolean;
}

export function createGate({ inside, waiting }: GateLimits, refused: () => ServiceError): Gate {
  const queue = new Set<() => void>();
  let entered = 0;

  function wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const go = (): void => {
        signal.removeEventListener('abort', give);
        resolve();
      };
      const give = (): void => {
        queue.delete(go);
        reject(signal.reason as Error);
      };
      queue.add(go);
      signal.addEventListener('abort', give, { once: true });
    });
  }

  return {
    enter(signal) {
      if (entered < inside) {
        entered += 1;
        return undefined;
      }
      if (queue.size >= waiting) throw refused();
      return wait(signal);
    },
    leave() {
      const [next] = queue;
      if (next === undefined) {
        entered -= 1;
        return;
      }
      queue.delete(next);
      next();
    },
    get empty() {
      return entered === 0 && queue.size === 0;
    },
  };
}
