import type { Bus } from '@switchyard/bus';
import { GATEWAY_DEPENDENCIES, ServiceError, type ServiceName } from '@switchyard/contracts';
import type { HealthReporter } from '@switchyard/service-kit';

/** Poll intervals: normal, and while a service is missing. */
const POLL_INTERVAL_MS = 3_000;
const MISSING_POLL_INTERVAL_MS = 500;
/** Consecutive misses before a service counts as missing, because a busy replica may answer late. */
const MIN_MISSES = 2;

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
  const missed = new Map<ServiceName, number>(needs.map((service) => [service, MIN_MISSES]));
  for (const service of needs) report(service);

  function report(service: ServiceName): void {
    const present = (missed.get(service) ?? 0) < MIN_MISSES;
    health.set(service, present, 'no replica answers');
  }

  async function poll(): Promise<void> {
    const present = new Set((await bus.discover({ requiredServices: needs })).map(({ service }) => service));
    for (const service of needs) {
      missed.set(service, present.has(service) ? 0 : (missed.get(service) ?? 0) + 1);
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
    const isMissing = [...missed.values()].some((times) => times > 0);
    // Jitter, so that gateways do not poll at the same time.
    timer = setTimeout(
      () => void pollForever(),
      (isMissing ? Math.min(MISSING_POLL_INTERVAL_MS, intervalMs) : intervalMs) * (0.9 + Math.random() / 5),
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
