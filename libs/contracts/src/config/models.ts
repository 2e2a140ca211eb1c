import { z } from 'zod';
import { keyedBy } from './keyed-list.ts';
import { address, count, flag, positive, text, texts, Positive } from './kinds.ts';
import { maxKeys } from '../values/max-keys.ts';
import { MAX, boundedString } from '../values/sizes.ts';

const Alias = z.strictObject({
  alias: z.string().min(1).max(MAX.name),
  provider: z.string().min(1).max(MAX.name),
  modelId: z.string().min(1).max(MAX.name),
});

/** Model aliases and the default model. */
export const models = z
  .strictObject({
    scanOnStartup: flag(false),
    scanTimeoutMs: positive(30_000),
    aliases: keyedBy('alias', z.array(Alias).max(MAX.many)).default([]),
    defaultModel: text().describe('empty selects the first provider with a key'),
    defaultProvider: text(),
    dev: z.boolean().optional().describe('keeps development models visible beside real ones'),
  })
  .prefault({})
  .describe('model catalogue');

const Cost = z
  .strictObject({
    input: z.number().nonnegative().max(1_000_000).optional(),
    output: z.number().nonnegative().max(1_000_000).optional(),
    cacheRead: z.number().nonnegative().max(1_000_000).optional(),
    cacheWrite: z.number().nonnegative().max(1_000_000).optional(),
  })
  .describe('USD per million tokens');

const Compat = z.strictObject({
  supportsTools: z.boolean().optional(),
  toolSchemaProfile: z.enum(['default', 'xai']).optional(),
  toolCallArgumentsEncoding: z.enum(['json', 'html-entities']).optional(),
  nativeWebSearchTool: z.boolean().optional().describe("allows the provider's own web search, which costs extra"),
});

/** Capability class of a model, the most capable first. */
export const CapabilityClass = z.enum(['frontier', 'mid', 'small', 'nano']);
export type CapabilityClass = z.output<typeof CapabilityClass>;

const ProviderModel = z.strictObject({
  id: z.string().min(1).max(MAX.name),
  name: boundedString(MAX.name).optional(),
  reasoning: flag(false),
  contextWindow: Positive.optional().describe('tokens'),
  maxTokens: Positive.optional().describe('tokens of one answer'),
  capabilityClass: CapabilityClass.optional().describe(
    'capability class, which limits the prompt; default: derived from the size in the model name',
  ),
  input: z
    .array(z.enum(['text', 'image']))
    .max(MAX.few)
    .default(['text']),
  cost: Cost.optional(),
  compat: Compat.optional(),
  sdkCompat: z.record(z.string(), z.unknown()).optional(),
});

const capabilities = z
  .strictObject({
    providerFamily: z.enum(['default', 'openai', 'anthropic', 'google']).default('default'),
    dropThinkingBlockModelHints: texts().describe('parts of model ids whose reasoning is never replayed'),
    transcriptToolCallIdMode: z.enum(['default', 'strict9']).default('default'),
    transcriptToolCallIdModelHints: texts(),
  })
  .prefault({});

/** One model provider: where it is, and the name of the secret that opens it. */
export const ProviderEntry = z.strictObject({
  type: z
    .string()
    .min(1)
    .max(MAX.name)
    .describe('protocol: anthropic and google use their native ones; all others, for example openai-compatible, use chat completions'),
  name: text().describe('display name in errors'),
  baseUrl: address(),
  apiKeyName: boundedString(MAX.name)
    .regex(/^([A-Z][A-Z0-9_]{0,255})?$/)
    .default('')
    .describe('name of the secret with the key, not the key itself; ends in _KEY or _API_TOKEN'),
  enabled: flag(true),
  timeoutMs: positive(120_000),
  maxRetries: count(2),
  headers: z
    .record(boundedString(MAX.name), boundedString(MAX.value))
    .check(maxKeys(MAX.few))
    .default({})
    .describe('headers sent with every request; never shown'),
  capabilities,
  models: z.array(ProviderModel).max(MAX.many).default([]),
});
export type ProviderEntry = z.output<typeof ProviderEntry>;

export const providers = z
  .strictObject({
    entries: z
      .record(
        z
          .string()
          .min(1)
          .max(MAX.name)
          .refine((id) => id !== 'default', 'another id: default is reserved'),
        ProviderEntry,
      )
      .check(maxKeys(MAX.many))
      .default({}),
  })
  .prefault({})
  .describe('model providers by id');

/** How texts become vectors. */
export const embedding = z
  .strictObject({
    enabled: flag(true),
    provider: z
      .enum(['auto', 'local', 'openai'])
      .default('auto')
      .describe('auto: no vectors, search is by words; local: a model in the process; openai: the provider'),
    autoReindex: flag(true),
    local: z
      .strictObject({
        modelUri: text('hf:nomic-ai/nomic-embed-text-v1.5-GGUF:nomic-embed-text-v1.5.Q8_0.gguf'),
        modelsDir: text('models'),
        gpu: z.union([z.enum(['auto', 'metal', 'cuda', 'vulkan']), z.literal(false)]).default('auto'),
        contextSize: positive(2_048).describe('tokens'),
      })
      .prefault({}),
    openai: z.strictObject({ model: text('text-embedding-3-small'), dimensions: positive(1_536) }).prefault({}),
    cache: z
      .strictObject({
        maxEntries: count(10_000),
        persistent: flag(false),
        persistentMaxEntries: count(50_000),
        ttlMs: Positive.optional(),
        pruneIntervalMs: positive(300_000),
      })
      .prefault({}),
    batch: z.strictObject({ batchSize: positive(100), indexOnStartup: flag(true) }).prefault({}),
  })
  .prefault({})
  .describe('embeddings');

/** Storage of OAuth profiles. */
export const oauth = z
  .strictObject({ storage: z.enum(['file', 'encrypted']).default('file') })
  .prefault({})
  .describe('OAuth profiles of providers');
