import { setTimeout as sleep } from 'node:timers/promises';
import { RpcError } from '@switchyard/client';

const MIN_DELAY_MS = 50;
const MAX_DELAY_MS = 2_000;
/** A call that is refused for longer than this has failed. */
const PATIENCE_MS = 60_000;

/**
 * Repeats a call while no gateway or service is available, with growing delays: without them the repetitions of the load alone would keep
 * a service overloaded. `repeat` can narrow which of these failures are repeated.
 */
export async function retryUnavailable<T>(call: () => Promise<T>, repeat: (error: RpcError) => boolean = () => true): Promise<T> {
  const deadline = performance.now() + PATIENCE_MS;
  for (let delayMs = MIN_DELAY_MS; ; delayMs = Math.min(2 * delayMs, MAX_DELAY_MS)) {
    try {
      return await call();
    } catch (error) {
      const unavailable = error instanceof RpcError && error.data.code === 'UNAVAILABLE' && repeat(error);
      if (!unavailable || performance.now() > deadline) throw error;
      await sleep(delayMs * (0.5 + Math.random() / 2));
    }
  }
}

/** Whether the connection broke, so that the call may have run. */
export function isConnectionLost(error: unknown): boolean {
  return error instanceof RpcError && error.data.reason === 'CONNECTION_LOST';
}
