import type { Handler } from '@switchyard/bus';
import type { PriceSource } from '@switchyard/contracts';
import type { PriceList } from '../ingest/price-list.ts';
import { toUsd } from '../billing/pico.ts';
import { listEntries, readLastDay, readSessionUsage, readUsage, toBillingTotal, type BillingDeps } from '../billing/read-billing.ts';
import { getProvider } from '../billing/provider.ts';
import { addAll, groupSums } from '../billing/usage-sums.ts';
import type { ModelSum } from '../documents/collections.ts';

const HOURS_PER_DAY = 24;

export function obsBillingTotal(deps: BillingDeps): Handler<'obs.billing.total'> {
  return async ({ sinceMs }, { principal }) => toBillingTotal(await readUsage(deps, principal, sinceMs));
}

export function obsBillingByAgent(deps: BillingDeps): Handler<'obs.billing.byAgent'> {
  return async ({ agentId, sinceMs }, { principal }) => {
    const entries = await readUsage(deps, principal, sinceMs);
    return toBillingTotal(entries.filter((entry) => entry.agentId === agentId));
  };
}

export function obsBillingBySession(deps: BillingDeps): Handler<'obs.billing.bySession'> {
  return async ({ sessionKey, sinceMs }, { principal }) => toBillingTotal(await readSessionUsage(deps, principal, { sessionKey, sinceMs }));
}

/** Returns one row per provider, the most expensive first, with its models. */
export function obsBillingByProvider(deps: BillingDeps & { readPrices: () => Promise<PriceList> }): Handler<'obs.billing.byProvider'> {
  return async ({ sinceMs }, { principal }) => {
    const models = [...groupSums(await readUsage(deps, principal, sinceMs), ({ model }) => model).values()];
    // The bill is shown without the sources of its prices while the registry is unavailable.
    const prices = await deps.readPrices().catch(() => undefined);
    const providers = Map.groupBy(models, ({ model }) => getProvider(model));
    const rows = Array.from(providers, ([provider, sums]) => {
      const { input, output, calls, unknownCalls, unpricedCalls, costPico, savedPico } = addAll(sums);
      return {
        provider,
        inputTokens: input,
        outputTokens: output,
        estimatedCostUsd: toUsd(BigInt(costPico)),
        callCount: calls,
        unknownCalls,
        unpricedCalls,
        totalCacheSaved: toUsd(BigInt(savedPico)),
        models: sums.map((sum) => ({ ...toModelRow(sum), ...describePrice(prices, sum.model) })),
      };
    });
    return { providers: rows.toSorted((a, b) => b.estimatedCostUsd - a.estimatedCostUsd || (a.provider < b.provider ? -1 : 1)) };
  };
}

/** Returns 24 rows by hour of the day in UTC. Each is an hour of the last day. */
export function obsBillingUsage24h(deps: BillingDeps): Handler<'obs.billing.usage24h'> {
  return async (_params, { principal }) => {
    const tokens = Array.from({ length: HOURS_PER_DAY }, () => 0);
    for (const hour of await readLastDay(deps, principal)) {
      const { input, output } = addAll(listEntries(hour));
      tokens[new Date(hour.at).getUTCHours()] = input + output;
    }
    return tokens.map((count, hour) => ({ hour, tokens: count }));
  };
}

/** A hit is a call that read from a cache; its figures are in tokens, because providers report no more. */
export function obsGetCacheStats(deps: BillingDeps): Handler<'obs.getCacheStats'> {
  return async (_params, { principal }) => {
    const entries = await readUsage(deps, principal, undefined);
    const { input, cacheRead, cacheWrite, savedPico } = addAll(entries);
    const providers = groupSums(entries, ({ model }) => getProvider(model));
    const misses = Math.max(0, input - cacheRead);
    return {
      totalHits: cacheRead,
      totalMisses: misses,
      hitRate: rate(cacheRead, cacheRead + misses),
      missRate: rate(misses, cacheRead + misses),
      cacheHitRate: rate(cacheRead, input),
      cacheEffectiveness: rate(cacheRead, cacheRead + cacheWrite),
      estimatedSavingsUsd: toUsd(BigInt(savedPico)),
      providers: Object.fromEntries(Array.from(providers, ([provider, sum]) => [provider, toCacheRow(sum)])),
    };
  };
}

function toCacheRow({ input, cacheRead, savedPico }: ModelSum) {
  return { hits: cacheRead, misses: Math.max(0, input - cacheRead), savedUsd: toUsd(BigInt(savedPico)) };
}

function describePrice(prices: PriceList | undefined, model: string): { priceSource?: PriceSource } {
  const priceSource = prices?.getSource(model);
  return priceSource === undefined ? {} : { priceSource };
}

function toModelRow({ model, input, output, cacheRead, cacheWrite, calls, unknownCalls, unpricedCalls, costPico }: ModelSum) {
  const tokens = { inputTokens: input, outputTokens: output, cacheReadTokens: cacheRead, cacheWriteTokens: cacheWrite };
  return { model, cost: toUsd(BigInt(costPico)), tokens: input + output, calls, ...tokens, unknownCalls, unpricedCalls };
}

function rate(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}
