import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { EventPayload, Sections } from '@switchyard/contracts';
import type { Logger } from '@switchyard/telemetry';

const RESOLUTION_MS = 20;
const NANOS = 1e6;

interface Given {
  settings: { readonly current: Readonly<Pick<Sections, 'daemon'>> };
  log: Pick<Logger, 'warn'>;
  /** Publishes the health of the process. */
  emit: (metrics: ProcessMetrics) => void;
}

type ProcessMetrics = EventPayload<'observability:metrics'>;

/**
 * Measures the process every `daemon.metricsIntervalMs`, publishes the figures, and logs a warning about an event-loop delay above
 * `daemon.eventLoopDelayThresholdMs`. Both settings are read before each interval.
 */
export function watchEventLoop({ settings, log, emit }: Given): Disposable {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  let timer = repeat();

  function repeat(): NodeJS.Timeout {
    return setTimeout(look, settings.current.daemon.metricsIntervalMs).unref();
  }

  function look(): void {
    const { eventLoopDelayThresholdMs: max, metricsIntervalMs } = settings.current.daemon;
    const [maxMs, p99Ms] = [delays.max, delays.percentile(99)].map((nanos) => Math.round(nanos / NANOS));
    emit(readMetrics(delays));
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

function readMetrics(delays: ReturnType<typeof monitorEventLoopDelay>): ProcessMetrics {
  const { rss, heapUsed, heapTotal, external } = process.memoryUsage();
  const { min, max, mean } = delays;
  // Without a sample the histogram has no bounds.
  const toMs = (nanos: number): number => (delays.count === 0 ? 0 : nanos / NANOS);
  return {
    rssBytes: rss,
    heapUsedBytes: heapUsed,
    heapTotalBytes: heapTotal,
    externalBytes: external,
    eventLoopDelayMs: {
      min: toMs(min),
      max: toMs(max),
      mean: toMs(mean),
      p50: toMs(delays.percentile(50)),
      p99: toMs(delays.percentile(99)),
    },
    activeHandles: process.getActiveResourcesInfo().length,
    uptimeSeconds: process.uptime(),
    timestamp: Date.now(),
  };
}
