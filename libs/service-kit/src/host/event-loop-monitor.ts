import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Sections } from '@switchyard/contracts';
import type { Logger } from '@switchyard/telemetry';

const RESOLUTION_MS = 20;
const NANOS = 1e6;

interface Given {
  settings: { readonly current: Readonly<Pick<Sections, 'daemon'>> };
  log: Pick<Logger, 'warn'>;
}

/**
 * Measures the event-loop delay every `daemon.metricsIntervalMs` and logs a warning above `daemon.eventLoopDelayThresholdMs`.
 * Both settings are read before each interval.
 */
export function watchEventLoop({ settings, log }: Given): Disposable {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  let timer = repeat();

  function repeat(): NodeJS.Timeout {
    return setTimeout(look, settings.current.daemon.metricsIntervalMs).unref();
  }

  function look(): void {
    const { eventLoopDelayThresholdMs: max, metricsIntervalMs } = settings.current.daemon;
    const [maxMs, p99Ms] = [delays.max, delays.percentile(99)].map((nanos) => Math.round(nanos / NANOS));
    delays.reset();
    if ((maxMs ?? 0) > max) {
      const hint = 'synchronous work blocks the event loop: check the load at that time, or raise daemon.eventLoopDelayThresholdMs';
      log.warn({ maxMs, p99Ms, thresholdMs: max, withinMs: metricsIntervalMs, errorKind: 'resource', hint }, 'the event loop was blocked');
    }
    timer = repeat();
  }

  return {
    [Symbol.dispose]() {
      clearTimeout(timer);
      delays.disable();
    },
  };
}
