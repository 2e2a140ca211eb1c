const PATIENCE = 3;

export interface Watchdog {
  /** Something came. */
  heard(): void;
  /** A heartbeat came: the time between two of them, by the gateway's clock, says how long silence is normal. */
  heartbeat(ts: unknown): void;
  stop(): void;
}

/** Notices a connection that died without a word: no message for three times the interval of heartbeats. */
export function createWatchdog(onSilence: () => void): Watchdog {
  let last: number | undefined;
  let limitMs: number | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function stop() {
    clearTimeout(timer);
  }

  function heard() {
    stop();
    if (limitMs !== undefined) timer = setTimeout(onSilence, limitMs);
  }

  return {
    heard,
    heartbeat(ts) {
      if (typeof ts !== 'number') return;
      if (last !== undefined && ts > last) limitMs = (ts - last) * PATIENCE;
      last = ts;
      heard();
    },
    stop,
  };
}
