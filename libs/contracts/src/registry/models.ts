import { z } from 'zod';
import { CapabilityClass } from '../config/models.ts';
import { Count, DurationMs, NoParams, Timestamp, Usd } from '../values/common.ts';
import { defineMethods } from '../definition/define.ts';
import { MAX, boundedString } from '../values/sizes.ts';

const UsdPerMillion = Usd.nonnegative().describe('US dollars per million tokens');

/** The page that publishes a list price, and the last day on which it is known to have shown that price. */
export const PriceSource = z.object({
  url: boundedString(MAX.url).describe('page of the provider'),
  checked: boundedString(MAX.name).describe('last day on which the page is known to have shown the price, such as 2026-11-28'),
});
export type PriceSource = z.infer<typeof PriceSource>;

/** One model that could answer, with its limits and prices. */
export const ModelCatalogEntry = z.object({
  provider: boundedString(MAX.name),
  modelId: boundedString(MAX.name),
  displayName: boundedString(MAX.name),
  contextWindow: Count.describe('tokens'),
  maxTokens: Count.describe('of one answer'),
  baseUrl: boundedString(MAX.url),
  input: z.array(z.enum(['text', 'image'])).max(MAX.many),
  reasoning: z.boolean(),
  capabilityClass: CapabilityClass.optional().describe('if the provider’s entry sets one'),
  cost: z.object({ input: UsdPerMillion, output: UsdPerMillion, cacheRead: UsdPerMillion, cacheWrite: UsdPerMillion }),
  priceSource: PriceSource.optional().describe('of a list price; absent if the configuration sets the price'),
  validated: z.boolean().describe('whether a test call succeeded'),
  validatedAt: Timestamp.nullable(),
  configured: z.literal(true).optional().describe('providers.entries names the model'),
});

/** Whether a model answered a tiny question, and how fast. A model that did not, or that nobody knows, is an answer too, not an error. */
export const ModelTested = z.object({
  ok: z.boolean(),
  latencyMs: DurationMs,
  provider: boundedString(MAX.name),
  error: boundedString(MAX.line).optional(),
});

export const modelsMethods = defineMethods({
  'models.list_providers': {
    summary: 'Lists the providers of the catalogue.',
    scope: 'admin',
    params: NoParams,
    result: z.object({ providers: z.array(boundedString(MAX.name)).max(MAX.many), count: Count }),
    blobs: ['providers'],
    idempotent: true,
    examples: [{ params: {}, result: { providers: ['anthropic', 'google', 'openai'], count: 3 } }],
  },
  'models.list': {
    summary: 'Lists the models of the catalogue, for one provider or all.',
    scope: 'admin',
    params: z.strictObject({ provider: z.string().min(1).max(128).optional() }),
    result: z.array(ModelCatalogEntry).max(MAX.all),
    blobs: ['*'],
    idempotent: true,
    examples: [
      {
        params: { provider: 'openai' },
        result: [
          {
            provider: 'openai',
            modelId: 'gpt-5',
            displayName: 'GPT-5',
            contextWindow: 400000,
            maxTokens: 128000,
            baseUrl: 'https://api.openai.com/v1',
            input: ['text', 'image'],
            reasoning: true,
            cost: { input: 1.25, output: 10, cacheRead: 0.125, cacheWrite: 0 },
            validated: true,
            validatedAt: 1763719200000,
          },
        ],
      },
    ],
  },
  'models.test': {
    summary: 'Tests a model with a minimal completion.',
    scope: 'admin',
    params: z.strictObject({ model: z.string().min(1).max(256), provider: z.string().min(1).max(128).optional() }),
    result: ModelTested,
    idempotent: true,
    emits: ['observability:token_usage', 'model:auth_cooldown'],
    examples: [
      { params: { model: 'gpt-5', provider: 'openai' }, result: { ok: true, latencyMs: 640, provider: 'openai' } },
      {
        params: { model: 'anthropic/claude-sonnet-4-5' },
        result: { ok: false, latencyMs: 3, provider: 'anthropic', error: 'no key is set for anthropic' },
      },
    ],
  },
});
