import type { Bus } from '@switchyard/bus';
import type { ModelTurnUsage, PriceSource, Result } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service-kit';
import { toPico } from '../billing/pico.ts';

const MILLION = 1_000_000;
/** The development models cost nothing. */
const FREE_PROVIDER = 'dev';
/** Prices change with the configuration, and a minute late is early enough for an estimate. */
const CACHE_TTL_MS = 60_000;

/** Values usage at list prices. */
export interface PriceList {
  /** Savings by prompt caches, and whether the model has no list price, so that its cost is unknown. */
  value(usage: ModelTurnUsage): { savedPico: bigint; unpriced: boolean };
  /** Returns the page that publishes the list price of a model; undefined for other prices. */
  getSource(model: string): PriceSource | undefined;
}

/**
 * Reads the prices in force from the registry and caches them. Cached prices are used while the registry is unavailable; without any, the
 * events wait in the log.
 */
export function createPriceReader(bus: Pick<Bus, 'call'>, clock: Pick<Clock, 'now'>): () => Promise<PriceList> {
  let cached: { prices: PriceList; until: number } | undefined;
  return async () => {
    if (cached && cached.until > clock.now()) return cached.prices;
    try {
      const { prices, sources } = await bus.call('models.prices', {});
      cached = { prices: createPriceList(prices, sources), until: clock.now() + CACHE_TTL_MS };
    } catch (error) {
      if (!cached) throw error;
    }
    return cached.prices;
  };
}

export function createPriceList(list: Result<'models.prices'>['prices'], published: Result<'models.prices'>['sources'] = []): PriceList {
  const prices = new Map(list.map((price) => [price.model, price]));
  const sources = new Map(published.map(({ model, ...source }) => [model, source]));
  return {
    getSource: (model) => sources.get(model),
    value({ model, cacheRead, cacheWrite, costUsd }) {
      const price = prices.get(model);
      if (price === undefined) return { savedPico: 0n, unpriced: costUsd === 0 && !model.startsWith(`${FREE_PROVIDER}/`) };
      const saved = cacheRead * (price.input - price.cacheRead) - cacheWrite * (price.cacheWrite - price.input);
      return { savedPico: toPico(saved / MILLION), unpriced: false };
    },
  };
}
