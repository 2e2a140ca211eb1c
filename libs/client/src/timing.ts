import type { RpcError } from './rpc-error.ts';

/** How soon a lost connection is tried again: doubling from `firstMs` to `capMs`, each time with chance taken off. */
export interface Reconnect {
  firstMs: number;
  capMs: number;
}

export const RECONNECT: Reconnect = { firstMs: 250, capMs: 10_000 };

/** Between half and all of the doubled delay, so that many clients do not come back at once. */
export function backoff(attempt: number, { firstMs, capMs }: Reconnect): number {
  return Math.min(capMs, firstMs * 2 ** attempt) * (0.5 + Math.random() / 2);
}

/** Rejects with the signal's reason when it is aborted first. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', stop);
    function done() {
      signal.removeEventListener('abort', stop);
      resolve();
    }
    function stop() {
      clearTimeout(timer);
      reject(signal.reason as Error);
    }
  });
}

/** Runs something under a signal that ends with its time, with the caller's signals, and with the call itself. */
export async function underDeadline<T>(
  { timeoutMs, late }: { timeoutMs: number; late: () => RpcError },
  signals: readonly (AbortSignal | undefined)[],
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(late()), timeoutMs);
  const release = follow(controller, signals);
  try {
    return await run(controller.signal);
  } finally {
    clearTimeout(timer);
    release();
  }
}

/** Aborts the controller as soon as one of the signals is; returns a function that stops following them. */
export function follow(controller: AbortController, signals: readonly (AbortSignal | undefined)[]): () => void {
  const followed = signals.filter((signal) => signal !== undefined);
  const forward = () => controller.abort(followed.find(({ aborted }) => aborted)?.reason);
  for (const signal of followed) signal.addEventListener('abort', forward);
  if (followed.some(({ aborted }) => aborted)) forward();
  return () => {
    for (const signal of followed) signal.removeEventListener('abort', forward);
  };
}
