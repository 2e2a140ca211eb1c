import type { ModelTurnUsage } from '@switchyard/contracts';
import type { Models } from '@switchyard/models';
import { toPico } from '../billing/pico.ts';

const MILLION = 1_000_000;
/** The development models cost nothing. */
const FREE_PROVIDER = 'dev';

/** Values usage at list prices. */
export interface PriceList {
  /** Savings by prompt caches, and whether the model has no list price, so that its cost is unknown. */
  value(usage: ModelTurnUsage): { savedPico: bigint; unpriced: boolean };
}

/** Reads the prices of all models in force. */
export async function readPriceList(models: Pick<Models, 'catalogue'>): Promise<PriceList> {
  const prices = new Map((await models.catalogue()).map(({ provider, modelId, cost }) => [`${provider}/${modelId}`, cost]));
  return {
    value({ model, cacheRead, cacheWrite, costUsd }) {
      const price = prices.get(model);
      const isPriced = price !== undefined && (price.input > 0 || price.output > 0);
      const unpriced = !isPriced && costUsd === 0 && !model.startsWith(`${FREE_PROVIDER}/`);
      if (!isPriced) return { savedPico: 0n, unpriced };
      const saved = cacheRead * (price.input - price.cacheRead) - cacheWrite * (price.cacheWrite - price.input);
      return { savedPico: toPico(saved / MILLION), unpriced };
    },
  };
}
