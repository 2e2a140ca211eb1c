import type { RpcError } from './rpc-error.ts';

/** Reconnect delays: they double from `firstMs` to `capMs`, with random jitter. */
export interface Reconnect {
  firstMs: number;
  capMs: number;
}

export const RECONNECT: Reconnect = { firstMs: 250, capMs: 10_000 };

/** Returns a random delay between half and all of the doubled delay, so that many clients do not reconnect at once. */
export function backoff(attempt: number, { firstMs, capMs }: Reconnect): number {
  return Math.min(capMs, firstMs * 2 ** attempt) * (0.5 + Math.random() / 2);
}

/** Waits. Rejects with the signal's reason if it is aborted first. */
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

/** Runs a function with a signal that is aborted by the timeout or by one of the caller's signals. */
export async function runWithDeadline<T>(
  { timeoutMs, createTimeoutError }: { timeoutMs: number; createTimeoutError: () => RpcError },
  signals: readonly (AbortSignal | undefined)[],
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(createTimeoutError()), timeoutMs);
  const release = followSignals(controller, signals);
  try {
    return await run(controller.signal);
  } finally {
    clearTimeout(timer);
    release();
  }
}

/** Aborts the controller when one of the signals is aborted. Returns a function that removes the listeners. */
export function followSignals(controller: AbortController, signals: readonly (AbortSignal | undefined)[]): () => void {
  const signalList = signals.filter((signal) => signal !== undefined);
  const forward = () => controller.abort(signalList.find(({ aborted }) => aborted)?.reason);
  for (const signal of signalList) signal.addEventListener('abort', forward);
  if (signalList.some(({ aborted }) => aborted)) forward();
  return () => {
    for (const signal of signalList) signal.removeEventListener('abort', forward);
  };
}
