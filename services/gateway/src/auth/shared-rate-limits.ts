import type { Bus } from '@switchyard/bus';
import type { Cache } from '@switchyard/cache';
import type { Settings } from '@switchyard/service-kit';
import { createRateLimits, rates, type RateLimits } from './rate-limits.ts';
import { syncRateLimitsOverBus } from './nats-rate-limit-sync.ts';
import { syncRateLimitsOverCache } from './redis-rate-limit-sync.ts';
import { createPendingCounts, type CounterReplication } from './rate-limit-sync.ts';

export interface SharedRateLimitsOptions {
  bus: Bus;
  /** Redis when the deployment has one; the gateways sync over the bus otherwise. */
  cache: Cache | undefined;
  settings: Settings<'gateway'>;
}

/**
 * Opens rate limits that all gateways share. Each gateway decides from its own memory and sends its counts to the others afterwards,
 * so that no request waits for another machine. A client that uses several gateways within one sync interval can get its rate from
 * each of them once. Without a connection each gateway counts alone.
 */
export async function openSharedRateLimits({ bus, cache, settings }: SharedRateLimitsOptions): Promise<RateLimits & Disposable> {
  const pending = createPendingCounts();
  let schedule = (): void => undefined;
  const limits = createRateLimits((limit, key, amount) => {
    pending.add(limit, key, amount);
    schedule();
  });
  const replication: CounterReplication = {
    takeDelta: () => pending.takeDelta(),
    applyRemote(counts, ageMs) {
      for (const limit of Object.keys(rates) as (keyof RateLimits)[]) {
        const rate = rates[limit](settings.current.gateway);
        for (const [key, amount] of Object.entries(counts[limit])) limits[limit].addRemote(key, rate, { amount, ageMs });
      }
    },
  };
  const sync = cache?.shared === true ? await syncRateLimitsOverCache(cache, replication) : syncRateLimitsOverBus(bus, replication);
  ({ schedule } = sync);
  return { ...limits, [Symbol.dispose]: () => sync[Symbol.dispose]() };
}
