import type { CountedUsage } from './adapter.ts';
import type { CatalogueEntry, ModelUsage } from './model.ts';

const CHARS_PER_TOKEN = 4;

/** The upstream's own count; where it gives none, four characters a token, so that budgets still see the work. */
export function toUsage(counted: CountedUsage, chars: { input: () => number; output: number }): ModelUsage {
  return {
    input: counted.input ?? Math.ceil(chars.input() / CHARS_PER_TOKEN),
    output: counted.output ?? Math.ceil(chars.output / CHARS_PER_TOKEN),
    ...(counted.cacheRead === undefined ? {} : { cacheRead: counted.cacheRead }),
    ...(counted.cacheWrite === undefined ? {} : { cacheWrite: counted.cacheWrite }),
  };
}

/** `input` counts cached tokens too; they are priced apart. */
export function priceOf({ input, output, cacheRead = 0, cacheWrite = 0 }: ModelUsage, cost: CatalogueEntry['cost'] | undefined): number {
  if (cost === undefined) return 0;
  const fresh = Math.max(0, input - cacheRead - cacheWrite);
  return (fresh * cost.input + cacheRead * cost.cacheRead + cacheWrite * cost.cacheWrite + output * cost.output) / 1_000_000;
}
