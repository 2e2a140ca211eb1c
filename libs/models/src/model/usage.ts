import type { CountedUsage } from './adapter.ts';
import type { CatalogueEntry, ModelUsage } from './model.ts';

export const CHARS_PER_TOKEN = 4;

/** Converts token counts. Missing counts are estimated as four characters per token, so that budgets apply to all providers. */
export function toUsage(counted: CountedUsage, chars: { input: () => number; output: number }): ModelUsage {
  return {
    input: counted.input ?? Math.ceil(chars.input() / CHARS_PER_TOKEN),
    output: counted.output ?? Math.ceil(chars.output / CHARS_PER_TOKEN),
    ...(counted.cacheRead === undefined ? {} : { cacheRead: counted.cacheRead }),
    ...(counted.cacheWrite === undefined ? {} : { cacheWrite: counted.cacheWrite }),
  };
}

/** Calculates the price in USD. `input` includes cached tokens, which have their own prices. */
export function calculateCost(
  { input, output, cacheRead = 0, cacheWrite = 0 }: ModelUsage,
  cost: CatalogueEntry['cost'] | undefined,
): number {
  if (cost === undefined) return 0;
  const uncached = Math.max(0, input - cacheRead - cacheWrite);
  return (uncached * cost.input + cacheRead * cost.cacheRead + cacheWrite * cost.cacheWrite + output * cost.output) / 1_000_000;
}
