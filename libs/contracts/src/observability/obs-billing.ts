import { z } from 'zod';
import { AgentId, Count, NoParams, Rate, SessionKey, Usd } from '../values/common.ts';
import { PriceSource } from '../registry/models.ts';
import { defineMethods } from '../definition/define.ts';
import { SinceMs } from './records.ts';
import { maxKeys } from '../values/max-keys.ts';
import { MAX, boundedString } from '../values/sizes.ts';

const gaps = {
  unknownCalls: Count.optional().describe('calls among them whose provider reported no usage; no sum contains them'),
  unpricedCalls: Count.optional().describe('calls among them of models without a list price; their cost is unknown and counts as 0'),
};

export const BillingTotal = z.object({ totalCost: Usd, totalTokens: Count, callCount: Count, totalCacheSaved: Usd, ...gaps });

const Used = z.object({ used: Count, limit: Count });

export const AgentBilling = BillingTotal.extend({
  budgetUsed: z.object({ perExecution: Used, perHour: Used, perDay: Used }).optional(),
});

/** Usage of a model as invoices of providers list it. */
const ModelBilling = z.object({
  model: boundedString(MAX.name),
  cost: Usd,
  tokens: Count,
  calls: Count,
  inputTokens: Count.optional().describe('includes cached tokens'),
  outputTokens: Count.optional(),
  cacheReadTokens: Count.optional(),
  cacheWriteTokens: Count.optional(),
  ...gaps,
  priceSource: PriceSource.optional().describe(
    'of the list price in force; absent if the configuration sets the price, or if there is none',
  ),
});

export const ProviderBilling = z.object({
  provider: boundedString(MAX.name),
  inputTokens: Count,
  outputTokens: Count,
  estimatedCostUsd: Usd,
  callCount: Count.optional(),
  ...gaps,
  totalCacheSaved: Usd.optional(),
  models: z.array(ModelBilling).max(MAX.all).optional(),
});

export const HourlyUsage = z.object({ hour: z.int().min(0).max(23), tokens: Count });

/** Prompt cache hits, misses and savings over all providers. */
export const PromptCacheStats = z.object({
  totalHits: Count,
  totalMisses: Count,
  hitRate: Rate,
  missRate: Rate,
  cacheHitRate: Rate.describe('read / (read + written + uncached) tokens'),
  cacheEffectiveness: Rate.describe('read / (read + written) tokens'),
  estimatedSavingsUsd: Usd,
  providers: z.record(boundedString(MAX.name), z.object({ hits: Count, misses: Count, savedUsd: Usd })).check(maxKeys(MAX.many)),
});

const total = { totalCost: 1.84, totalTokens: 512000, callCount: 240, totalCacheSaved: 0.31 };

export const obsBillingMethods = defineMethods({
  'obs.billing.total': {
    summary: 'Returns usage and cost of all model calls.',
    scope: 'admin',
    params: z.strictObject({ sinceMs: SinceMs.optional() }),
    result: BillingTotal,
    idempotent: true,
    examples: [{ params: { sinceMs: 86400000 }, result: total }],
  },
  'obs.billing.usage24h': {
    summary: 'Returns token usage per hour of the last day, by hour of the day in UTC.',
    scope: 'admin',
    params: NoParams,
    result: z.array(HourlyUsage).max(MAX.all),
    idempotent: true,
    blobs: ['*'],
    examples: [
      {
        params: {},
        result: [
          { hour: 9, tokens: 18200 },
          { hour: 10, tokens: 41000 },
        ],
      },
    ],
  },
  'obs.billing.byProvider': {
    summary: 'Returns usage and cost per provider and model.',
    scope: 'admin',
    params: z.strictObject({ sinceMs: SinceMs.optional() }),
    result: z.object({ providers: z.array(ProviderBilling).max(MAX.many) }),
    idempotent: true,
    blobs: ['providers'],
    examples: [
      {
        params: {},
        result: { providers: [{ provider: 'openai', inputTokens: 430000, outputTokens: 82000, estimatedCostUsd: 1.84 }] },
      },
    ],
  },
  'obs.billing.byAgent': {
    summary: 'Returns usage and cost of one agent.',
    scope: 'admin',
    params: z.strictObject({ agentId: AgentId, sinceMs: SinceMs.optional() }),
    result: AgentBilling,
    idempotent: true,
    examples: [{ params: { agentId: 'default' }, result: total }],
  },
  'obs.billing.bySession': {
    summary: 'Returns usage and cost of one session.',
    scope: 'admin',
    params: z.strictObject({ sessionKey: SessionKey, sinceMs: SinceMs.optional() }),
    result: BillingTotal,
    idempotent: true,
    examples: [{ params: { sessionKey: 'default:alice:gateway' }, result: total }],
  },
  'obs.getCacheStats': {
    summary: 'Returns hits, misses and savings of prompt caching.',
    scope: 'admin',
    params: NoParams,
    result: PromptCacheStats,
    idempotent: true,
    blobs: ['providers'],
    examples: [
      {
        params: {},
        result: {
          totalHits: 31,
          totalMisses: 9,
          hitRate: 0.775,
          missRate: 0.225,
          cacheHitRate: 0.61,
          cacheEffectiveness: 0.82,
          estimatedSavingsUsd: 0.31,
          providers: { openai: { hits: 31, misses: 9, savedUsd: 0.31 } },
        },
      },
    ],
  },
});
