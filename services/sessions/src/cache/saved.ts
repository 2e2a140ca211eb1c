import type { Answered, ModelRef, Models } from '@switchyard/models';
import { listPrice } from '../budgets/prices.ts';

/** Where prices are. */
export type Priced = Pick<Models, 'catalogue' | 'revision'>;

/** Tokens of one model, of one answer or of many. */
interface Cached {
  model: ModelRef;
  usage: Required<Pick<Answered['usage'], 'cacheRead' | 'cacheWrite'>>;
}

const MILLION = 1_000_000;

/**
 * What cached tokens would have cost as plain input, less what was paid for reading and for writing them; below 0 where writing cost
 * more than reading saved. Nothing where nobody knows the price.
 */
export async function savedUsd(models: Priced, { model, usage: { cacheRead, cacheWrite } }: Cached): Promise<number> {
  if (cacheRead === 0 && cacheWrite === 0) return 0;
  const cost = await listPrice(models, model);
  if (cost === undefined) return 0;
  return (cacheRead * (cost.input - cost.cacheRead) - cacheWrite * (cost.cacheWrite - cost.input)) / MILLION;
}
