import type { LanguageModelV4Usage } from '@ai-sdk/provider';
import type { CatalogueEntry, ModelUsage } from './model.ts';

const CHARS_PER_TOKEN = 4;

/** The upstream's own count; where it gives none, four characters a token, so that budgets still see the work. */
export function toUsage(counted: LanguageModelV4Usage, chars: { input: () => number; output: number }): ModelUsage {
  const { inputTokens, outputTokens } = counted;
  return {
    input: inputTokens.total ?? Math.ceil(chars.input() / CHARS_PER_TOKEN),
    output: outputTokens.total ?? Math.ceil(chars.output / CHARS_PER_TOKEN),
    ...(inputTokens.cacheRead === undefined ? {} : { cacheRead: inputTokens.cacheRead }),
    ...(inputTokens.cacheWrite === undefined ? {} : { cacheWrite: inputTokens.cacheWrite }),
  };
}

/** `input` counts cached tokens too; they are priced apart. */
export function costUsd({ input, output, cacheRead = 0, cacheWrite = 0 }: ModelUsage, cost: CatalogueEntry['cost'] | undefined): number {
  if (cost === undefined) return 0;
  const fresh = Math.max(0, input - cacheRead - cacheWrite);
  return (fresh * cost.input + cacheRead * cost.cacheRead + cacheWrite * cost.cacheWrite + output * cost.output) / 1_000_000;
}
