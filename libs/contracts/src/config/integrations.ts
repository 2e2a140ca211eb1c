import { z } from 'zod';
import { keyedBy } from './keyed-list.ts';
import { count, flag, positive, SecretRef, text, Positive } from './kinds.ts';
import { maxKeys } from '../values/max-keys.ts';
import { MAX, boundedString } from '../values/sizes.ts';

const McpServer = z.strictObject({
  name: z.string().min(1).max(MAX.name),
  transport: z.enum(['stdio', 'sse', 'http']),
  command: boundedString(MAX.path).optional(),
  args: z.array(boundedString(MAX.path)).max(MAX.many).optional(),
  url: boundedString(MAX.url).optional(),
  env: z.record(boundedString(MAX.name), boundedString(MAX.value)).check(maxKeys(MAX.many)).optional(),
  cwd: boundedString(MAX.path).optional(),
  enabled: flag(true),
  headers: z.record(boundedString(MAX.name), boundedString(MAX.value)).check(maxKeys(MAX.few)).optional(),
  maxConcurrency: Positive.optional(),
});

const AutoReplyRule = z.strictObject({
  id: z.string().min(1).max(MAX.id),
  pattern: boundedString(MAX.line),
  template: boundedString(MAX.text),
  channels: z.array(boundedString(MAX.name)).max(MAX.many).optional(),
  priority: z.int().min(-1_000_000).max(1_000_000).default(0),
});

/** Other people's services. */
export const integrations = z
  .strictObject({
    braveSearch: z
      .strictObject({
        apiKey: SecretRef.optional(),
        maxResultsDefault: positive(5),
        cacheTtlMs: count(3_600_000),
        rateLimitRps: z.number().positive().max(1_000).default(1).describe('requests a second'),
      })
      .prefault({}),
    mcp: z
      .strictObject({
        servers: keyedBy('name', z.array(McpServer).max(MAX.many)).default([]),
        callToolTimeoutMs: positive(120_000),
        stdioDefaultConcurrency: positive(1),
        httpDefaultConcurrency: positive(4),
      })
      .prefault({}),
    autoReply: z.strictObject({ enabled: flag(false), rules: z.array(AutoReplyRule).max(MAX.many).default([]) }).prefault({}),
  })
  .prefault({})
  .describe('third-party services');

const Plugin = z.strictObject({
  enabled: flag(true),
  priority: z.int().min(-100).max(100).default(0),
  config: z.record(z.string(), z.unknown()).default({}),
});

/** Extensions, by id. */
export const plugins = z
  .strictObject({
    enabled: flag(true),
    plugins: z.record(boundedString(MAX.name), Plugin.prefault({})).check(maxKeys(MAX.many)).default({}),
  })
  .prefault({})
  .describe('extensions by id');

/** Product documentation for agents. */
export const documentation = z
  .strictObject({
    enabled: flag(false),
    localDocsPath: text(),
    publicDocsUrl: text(),
    sourceUrl: text(),
    communityUrl: text(),
    skillsMarketplaceUrl: text(),
    mcpRegistryUrl: text(),
    customLinks: z
      .array(z.strictObject({ label: boundedString(MAX.line), url: boundedString(MAX.url) }))
      .max(MAX.many)
      .default([]),
  })
  .prefault({})
  .describe('documentation available to agents');
