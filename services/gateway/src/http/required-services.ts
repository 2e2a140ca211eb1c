import type { Bus } from '@switchyard/bus';
import { GATEWAY_DEPENDENCIES, ServiceError, type ServiceName } from '@switchyard/contracts';
import type { HealthReporter } from '@switchyard/service-kit';

/** Poll intervals: normal, and while a service is missing. */
const POLL_INTERVAL_MS = 3_000;
const MISSING_POLL_INTERVAL_MS = 500;
/** Time in milliseconds that a poll waits for services that have not answered. */
const RESPONSE_WINDOW_MS = 1_000;
/**
 * How long a service must be silent before it counts as missing. On a busy machine a replica answers late, or this process reads the answers
 * late; if all gateways were not ready then, no request would be served at all.
 */
const MAX_SILENCE_MS = 5_000;

export interface RequiredServicesOptions {
  bus: Pick<Bus, 'discover'>;
  health: Pick<HealthReporter, 'set'>;
  needs?: readonly ServiceName[] | undefined;
  intervalMs?: number;
}

/**
 * Reports each required service as a health dependency, which is not ready while no replica answers. Resolves after the first poll. While
 * the bus is unavailable the last result is kept, because the health of the bus is reported separately.
 */
export async function watchRequiredServices({
  bus,
  health,
  needs = GATEWAY_DEPENDENCIES,
  intervalMs = POLL_INTERVAL_MS,
}: RequiredServicesOptions): Promise<Disposable> {
  /** Since when each service has been silent; no entry for a service that answered the last poll. */
  const silentSince = new Map<ServiceName, number>(needs.map((service) => [service, -Infinity]));
  for (const service of needs) report(service);

  function report(service: ServiceName): void {
    const present = performance.now() - (silentSince.get(service) ?? Infinity) < MAX_SILENCE_MS;
    health.set(service, present, 'no replica answers');
  }

  async function poll(): Promise<void> {
    const startedAt = performance.now();
    const replicas = await bus.discover({ requiredServices: needs, windowMs: RESPONSE_WINDOW_MS });
    const present = new Set(replicas.map(({ service }) => service));
    for (const service of needs) {
      if (present.has(service)) silentSince.delete(service);
      else if (!silentSince.has(service)) silentSince.set(service, startedAt);
      report(service);
    }
  }

  async function tryPoll(): Promise<void> {
    try {
      await poll();
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
    }
  }

  let timer: NodeJS.Timeout | undefined;
  let disposed = false;
  async function pollForever(): Promise<void> {
    await tryPoll();
    if (disposed) return;
    // Jitter, so that gateways do not poll at the same time.
    timer = setTimeout(
      () => void pollForever(),
      (silentSince.size > 0 ? Math.min(MISSING_POLL_INTERVAL_MS, intervalMs) : intervalMs) * (0.9 + Math.random() / 5),
    ).unref();
  }

  await pollForever();
  return {
    [Symbol.dispose]() {
      disposed = true;
      clearTimeout(timer);
    },
  };
}
