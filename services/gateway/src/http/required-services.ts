import type { Bus } from '@switchyard/bus';
import { GATEWAY_DEPENDENCIES, ServiceError, type ServiceName } from '@switchyard/contracts';
import type { HealthReporter } from '@switchyard/service-kit';

/** How often the gateway looks who is there, and how often while somebody is missing. */
const LOOK_MS = 3_000;
const MISSING_MS = 500;
/** A replica that is too busy to answer at once is not gone: so often in a row it must be missing. */
const MISSES = 2;

export interface NeighboursOptions {
  bus: Pick<Bus, 'discover'>;
  health: Pick<HealthReporter, 'set'>;
  needs?: readonly ServiceName[] | undefined;
  everyMs?: number;
}

/**
 * Reports each service that a gateway cannot be without as a thing it needs: not ready while no replica of it answers. The first look
 * is over when this resolves. While the bus cannot be asked, what was seen last stands: that the bus is away is told by itself.
 */
export async function watchNeighbours({
  bus,
  health,
  needs = GATEWAY_DEPENDENCIES,
  everyMs = LOOK_MS,
}: NeighboursOptions): Promise<Disposable> {
  const missed = new Map<ServiceName, number>(needs.map((service) => [service, MISSES]));
  for (const service of needs) report(service);

  function report(service: ServiceName): void {
    const there = (missed.get(service) ?? 0) < MISSES;
    health.set(service, there, 'no replica answers');
  }

  async function look(): Promise<void> {
    const there = new Set((await bus.discover({ requiredServices: needs })).map(({ service }) => service));
    for (const service of needs) {
      missed.set(service, there.has(service) ? 0 : (missed.get(service) ?? 0) + 1);
      report(service);
    }
  }

  async function lookIfPossible(): Promise<void> {
    try {
      await look();
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
    }
  }

  let timer: NodeJS.Timeout | undefined;
  let over = false;
  async function lookOn(): Promise<void> {
    await lookIfPossible();
    if (over) return;
    const isMissing = [...missed.values()].some((times) => times > 0);
    // A little apart from the other gateways, so that not all of them ask at once.
    timer = setTimeout(() => void lookOn(), (isMissing ? Math.min(MISSING_MS, everyMs) : everyMs) * (0.9 + Math.random() / 5)).unref();
  }

  await lookOn();
  return {
    [Symbol.dispose]() {
      over = true;
      clearTimeout(timer);
    },
  };
}
