import { setTimeout as sleep } from 'node:timers/promises';
import { RpcError } from '@switchyard/client';

const RETRY_MS = 50;
/** A call that is refused for longer than this has failed. */
const PATIENCE_MS = 60_000;

/** Repeats a call while no gateway or service is available. `repeat` can narrow which of these failures are repeated. */
export async function retryUnavailable<T>(call: () => Promise<T>, repeat: (error: RpcError) => boolean = () => true): Promise<T> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      const unavailable = error instanceof RpcError && error.data.code === 'UNAVAILABLE' && repeat(error);
      if (!unavailable || performance.now() > deadline) throw error;
      await sleep(RETRY_MS);
    }
  }
}

/** Whether the connection broke, so that the call may have run. */
export function isConnectionLost(error: unknown): boolean {
  return error instanceof RpcError && error.data.reason === 'CONNECTION_LOST';
}
