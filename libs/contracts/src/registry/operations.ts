import { z } from 'zod';
import { CONFIG_WRITER_NAMES, CONFIG_WRITING_SERVICES } from '../config/config-writers.ts';
import { defineOperations } from '../definition/define.ts';
import { AgentId } from '../values/common.ts';
import { PriceSource } from './models.ts';
import { MODEL_EVENTS } from '../sessions/turn-events.ts';
import { safeKeys } from '../values/safe-keys.ts';
import { MAX, boundedString } from '../values/sizes.ts';

/** One entry of `/v1/models`: something a client may name as its model. */
export const VisibleModel = z.object({
  id: boundedString(MAX.name).describe('an agent id or provider/model'),
  ownedBy: boundedString(MAX.name),
});

export const VisibleAgent = z.object({
  id: AgentId,
  name: boundedString(MAX.name),
  provider: boundedString(MAX.name),
  model: boundedString(MAX.name),
  status: z.enum(['active', 'suspended']),
});

/** Maximum number of texts that OpenAI clients send in one request. */
const MAX_TEXTS = 2_048;
const MAX_DIMENSIONS = 65_536;
const MAX_TOKEN_ID = 2_147_483_647;

/** A text to embed, or its token ids for providers that accept them. */
export const EmbeddingInput = z.union([
  z.string().min(1).max(MAX.text),
  z.array(z.int().nonnegative().max(MAX_TOKEN_ID)).min(1).max(MAX.messages),
]);
export type EmbeddingInput = z.infer<typeof EmbeddingInput>;

/** Control plane operations for other services. */
export const registryOperations = defineOperations({
  'models.visible': {
    summary: 'Returns the model names for /v1 clients.',
    callers: ['gateway'] as const,
    params: z.strictObject({}),
    result: z.object({ models: z.array(VisibleModel).max(MAX.all) }),
    blobs: ['models'],
    idempotent: true,
  },
  'models.prices': {
    summary: 'Returns the list prices in force, in US dollars per million tokens. A model without a price is not in the list.',
    callers: ['observability'] as const,
    params: z.strictObject({}),
    result: z.object({
      prices: z
        .array(
          z.object({
            model: boundedString(MAX.name).describe('provider/model'),
            input: z.number().nonnegative(),
            output: z.number().nonnegative(),
            cacheRead: z.number().nonnegative(),
            cacheWrite: z.number().nonnegative(),
          }),
        )
        .max(MAX.all),
      sources: z
        .array(PriceSource.extend({ model: boundedString(MAX.name).describe('provider/model') }))
        .max(MAX.all)
        .optional()
        .describe('of list prices, also of models for speech and images'),
    }),
    blobs: ['prices', 'sources'],
    idempotent: true,
  },
  'models.embed': {
    summary:
      'Returns embeddings of texts. Fails NOT_FOUND, reason NO_EMBEDDER, without a provider; RESOURCE_EXHAUSTED, reason BUDGET_EXCEEDED, if the budget of the agent or token is used up.',
    callers: ['gateway', 'memory'] as const,
    params: z.strictObject({
      model: z.string().min(1).max(MAX.name).describe('provider/model, an alias, or the embedding provider’s name'),
      input: z.array(EmbeddingInput).min(1).max(MAX_TEXTS).describe('texts, or the token ids of texts if the provider accepts them'),
      dimensions: z.int().positive().max(MAX_DIMENSIONS).optional().describe('vector dimensions, if the model supports a choice'),
      agentId: AgentId.optional().describe('agent whose budget is used; default: the caller’s agent'),
    }),
    result: z.object({
      model: boundedString(MAX.name).describe('name at the provider'),
      vectors: z
        .array(boundedString(MAX.text))
        .max(MAX_TEXTS)
        .describe('in the order of the texts; each is base64 of little-endian float32'),
    }),
    blobs: ['input', 'vectors'],
    emits: MODEL_EVENTS,
    deadlineMs: 120_000,
    idempotent: true,
  },
  'config.write': {
    summary:
      'Persists configuration that a method changes. Fails PERMISSION_DENIED, reason PATH_NOT_DECLARED, outside of the paths of the method; otherwise as config.patch and agents.update fail.',
    callers: CONFIG_WRITING_SERVICES,
    params: z
      .strictObject({
        as: z.enum(CONFIG_WRITER_NAMES).describe('the method that persists'),
        path: z.string().min(1).max(512).describe('dots separate the names'),
        value: z.unknown().describe('merged as by config.patch; null removes the stored value'),
      })
      .check(safeKeys()),
    result: z.object({
      written: z.literal(true),
      commitSha: boundedString(MAX.name).optional().describe('the new version; absent for a path in an agent'),
    }),
    blobs: ['*'],
    idempotent: true,
    emits: ['config:patched', 'model:catalog_loaded'],
  },
  'agents.visible': {
    summary: 'Returns the agents of the caller’s tenant with their models.',
    callers: ['gateway'] as const,
    params: z.strictObject({}),
    result: z.object({ agents: z.array(VisibleAgent).max(MAX.all) }),
    blobs: ['agents'],
    idempotent: true,
  },
});
