import type { Bus } from '@switchyard/bus';
import type { Cache } from '@switchyard/cache';
import type { Settings } from '@switchyard/service-kit';
import { createLimits, rates, type Limits } from './rate-limits.ts';
import { tellOverBus } from './nats-rate-limit-sync.ts';
import { tellOverCache } from './redis-rate-limit-sync.ts';
import { createUntold, type Told } from './rate-limit-sync.ts';

export interface SharedLimitsOptions {
  bus: Bus;
  /** What the gateways share; where it is nobody else's they tell each other over the bus. */
  cache: Cache | undefined;
  settings: Settings<'gateway'>;
}

/**
 * Windows that belong to the client whichever replica it talks to: each decides from its own memory, and tells the others what it
 * let through, a moment later. So no request waits for another machine; a client that turns to several at the same instant gets its
 * rate from each, once; and without a way to tell, each counts alone.
 */
export async function openSharedLimits({ bus, cache, settings }: SharedLimitsOptions): Promise<Limits & Disposable> {
  const untold = createUntold();
  let due = (): void => undefined;
  const limits = createLimits((limit, key, amount) => {
    untold.add(limit, key, amount);
    due();
  });
  const told: Told = {
    draw: () => untold.draw(),
    hear(counts, ageMs) {
      for (const limit of Object.keys(rates) as (keyof Limits)[]) {
        const rate = rates[limit](settings.current.gateway);
        for (const [key, amount] of Object.entries(counts[limit])) limits[limit].add(key, rate, { amount, ageMs });
      }
    },
  };
  const telling = cache?.shared === true ? await tellOverCache(cache, told) : tellOverBus(bus, told);
  ({ due } = telling);
  return { ...limits, [Symbol.dispose]: () => telling[Symbol.dispose]() };
}
