import type { Answered, ModelRef, Models } from '@switchyard/models';
import { listPrice } from '../budgets/model-prices.ts';

/** Source of prices. */
export type Priced = Pick<Models, 'catalogue' | 'revision'>;

/** Token usage of one model. */
interface Cached {
  model: ModelRef;
  usage: Required<Pick<Answered['usage'], 'cacheRead' | 'cacheWrite'>>;
}

const MILLION = 1_000_000;

export async function savedUsd(models: Priced, { model, usage }: Cached): Promise<number> {
  return usage.cacheRead === 0 && usage.cacheWrite === 0 ? 0 : savedBy(usage, await listPrice(models, model));
}

/**
 * Cost of cached tokens at the input price, minus the actual cost of cache reads and writes. Negative if writing cost more than reading
 * saved; 0 without a price.
 */
export function savedBy({ cacheRead, cacheWrite }: Cached['usage'], price: Awaited<ReturnType<typeof listPrice>>): number {
  if (price === undefined) return 0;
  return (cacheRead * (price.input - price.cacheRead) - cacheWrite * (price.cacheWrite - price.input)) / MILLION;
}
