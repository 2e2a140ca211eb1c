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
  let timer = again();

  function again(): NodeJS.Timeout {
    return setTimeout(look, settings.current.daemon.metricsIntervalMs).unref();
  }

  function look(): void {
    const { eventLoopDelayThresholdMs: most, metricsIntervalMs } = settings.current.daemon;
    const [maxMs, p99Ms] = [delays.max, delays.percentile(99)].map((nanos) => Math.round(nanos / NANOS));
    delays.reset();
    if ((maxMs ?? 0) > most) {
      const hint = 'something keeps this process busy without a pause: look at what it did then, or raise daemon.eventLoopDelayThresholdMs';
      log.warn(
        { maxMs, p99Ms, thresholdMs: most, withinMs: metricsIntervalMs, errorKind: 'resource', hint },
        'the process kept others waiting',
      );
    }
    timer = again();
  }

  return {
    [Symbol.dispose]() {
      clearTimeout(timer);
      delays.disable();
    },
  };
}
