import type { Logger } from '@switchyard/telemetry';
import type { BlobBackend } from './blob-backend.ts';
import type { BlobLimits } from './blob-limits.ts';

export interface SweeperOptions {
  backend: BlobBackend;
  limits: BlobLimits;
  log: Logger;
  now: () => number;
}

/** Deletes expired blobs and abandoned uploads: once at the start, then with a pause of `sweepMs`. */
export function startSweeper({ backend, limits, log, now }: SweeperOptions): { stop(): Promise<void> } {
  let running: Promise<void> | undefined;
  let stopped = false;
  let timer = setTimeout(run, 0).unref();

  async function sweep(): Promise<void> {
    try {
      const removed = await backend.sweep(now(), now() - limits.abandonedMs);
      if (removed > 0) log.debug({ removed }, 'deleted expired blobs');
    } catch (err) {
      log.warn({ err }, 'failed to delete expired blobs; retrying in the next sweep');
    }
  }

  function run(): void {
    running = sweep().then(() => {
      if (!stopped) timer = setTimeout(run, limits.sweepMs).unref();
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
