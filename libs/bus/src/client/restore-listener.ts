import type { BusContext } from './bus-context.ts';

const RETRY_INTERVAL_MS = 500;

/**
 * Runs `restore` after each outage and retries until it succeeds. A further outage restarts it. The returned function removes the listener.
 */
export function runAfterRestore({ transport, log }: BusContext, restore: () => Promise<void> | void): () => void {
  let current = 0;
  let timer: NodeJS.Timeout | undefined;

  async function attempt(outage: number): Promise<void> {
    try {
      await restore();
    } catch (err) {
      if (outage !== current) return;
      log.warn({ err }, 'failed to restore the content of the bus; retrying');
      timer = setTimeout(() => void attempt(outage), RETRY_INTERVAL_MS).unref();
    }
  }

  const leave = transport.addConnectionListener({
    restored() {
      clearTimeout(timer);
      void attempt(++current);
    },
  });
  return () => {
    current++;
    clearTimeout(timer);
    leave();
  };
}
