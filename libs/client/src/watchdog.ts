const SILENT_INTERVALS = 3;

export interface Watchdog {
  /** Restarts the timer. Called for every received message. */
  reset(): void;
  /** Records a heartbeat. The time between two heartbeats, by the gateway's clock, sets the silence limit. */
  heartbeat(ts: unknown): void;
  stop(): void;
}

/** Detects a dead connection: no message for three heartbeat intervals. */
export function createWatchdog(onSilence: () => void): Watchdog {
  let last: number | undefined;
  let limitMs: number | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function stop() {
    clearTimeout(timer);
  }

  function reset() {
    stop();
    if (limitMs !== undefined) timer = setTimeout(onSilence, limitMs);
  }

  return {
    reset,
    heartbeat(ts) {
      if (typeof ts !== 'number') return;
      if (last !== undefined && ts > last) limitMs = (ts - last) * SILENT_INTERVALS;
      last = ts;
      reset();
    },
    stop,
  };
}
