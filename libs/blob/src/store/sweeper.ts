import type { Logger } from '@switchyard/telemetry';
import type { Backend } from './blob-backend.ts';
import type { BlobLimits } from './blob-limits.ts';

export interface SweeperOptions {
  backend: Backend;
  limits: BlobLimits;
  log: Logger;
  now: () => number;
}

/** Removes what expired and what nobody continued: at once what was left from before, then one sweep after the other. */
export function startSweeper({ backend, limits, log, now }: SweeperOptions): { stop(): Promise<void> } {
  let running: Promise<void> | undefined;
  let stopped = false;
  let timer = setTimeout(begin, 0).unref();

  async function sweep(): Promise<void> {
    try {
      const removed = await backend.sweep(now(), now() - limits.abandonedMs);
      if (removed > 0) log.debug({ removed }, 'blobs expired');
    } catch (err) {
      log.warn({ err }, 'expired blobs could not be removed; the next sweep tries again');
    }
  }

  function begin(): void {
    running = sweep().then(() => {
      if (!stopped) timer = setTimeout(begin, limits.sweepMs).unref();
    });
  }

  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
