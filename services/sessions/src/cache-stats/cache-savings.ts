import type { Answered, ModelRef, Models } from '@switchyard/models';
import { listPrice } from '../budgets/model-prices.ts';

/** Where prices are. */
export type Priced = Pick<Models, 'catalogue' | 'revision'>;

/** Tokens of one model, of one answer or of many. */
interface Cached {
  model: ModelRef;
  usage: Required<Pick<Answered['usage'], 'cacheRead' | 'cacheWrite'>>;
}

const MILLION = 1_000_000;

export async function savedUsd(models: Priced, { model, usage }: Cached): Promise<number> {
  return usage.cacheRead === 0 && usage.cacheWrite === 0 ? 0 : savedBy(usage, await listPrice(models, model));
}

/**
 * What cached tokens would have cost as plain input, less what was paid for reading and for writing them; below 0 where writing cost
 * more than reading saved. Nothing where nobody knows the price.
 */
export function savedBy({ cacheRead, cacheWrite }: Cached['usage'], price: Awaited<ReturnType<typeof listPrice>>): number {
  if (price === undefined) return 0;
  return (cacheRead * (price.input - price.cacheRead) - cacheWrite * (price.cacheWrite - price.input)) / MILLION;
}
