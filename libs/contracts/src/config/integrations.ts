import { z } from 'zod';
import { count, flag, positive, SecretRef, text } from './kinds.ts';

const McpServer = z.strictObject({
  name: z.string().min(1),
  transport: z.enum(['stdio', 'sse', 'http']),
  command: z.string().optional(),
  args: z.array(z.string()).optional(),
  url: z.string().optional(),
  env: z.record(z.string(), z.string()).optional(),
  cwd: z.string().optional(),
  enabled: flag(true),
  headers: z.record(z.string(), z.string()).optional(),
  maxConcurrency: z.int().positive().optional(),
});

const AutoReplyRule = z.strictObject({
  id: z.string().min(1),
  pattern: z.string(),
  template: z.string(),
  channels: z.array(z.string()).optional(),
  priority: z.int().default(0),
});

/** Other people's services. */
export const integrations = z
  .strictObject({
    braveSearch: z
      .strictObject({
        apiKey: SecretRef.optional(),
        maxResultsDefault: positive(5),
        cacheTtlMs: count(3_600_000),
        rateLimitRps: z.number().positive().default(1).describe('requests a second'),
      })
      .prefault({}),
    mcp: z
      .strictObject({
        servers: z.array(McpServer).default([]),
        callToolTimeoutMs: positive(120_000),
        stdioDefaultConcurrency: positive(1),
        httpDefaultConcurrency: positive(4),
      })
      .prefault({}),
    autoReply: z.strictObject({ enabled: flag(false), rules: z.array(AutoReplyRule).default([]) }).prefault({}),
  })
  .prefault({})
  .describe('services of other people');

const Plugin = z.strictObject({
  enabled: flag(true),
  priority: z.int().min(-100).max(100).default(0),
  config: z.record(z.string(), z.unknown()).default({}),
});

/** Extensions, by id. */
export const plugins = z
  .strictObject({ enabled: flag(true), plugins: z.record(z.string(), Plugin.prefault({})).default({}) })
  .prefault({})
  .describe('extensions by id');

/** Where an agent finds help about the product. */
export const documentation = z
  .strictObject({
    enabled: flag(false),
    localDocsPath: text(),
    publicDocsUrl: text(),
    sourceUrl: text(),
    communityUrl: text(),
    skillsMarketplaceUrl: text(),
    mcpRegistryUrl: text(),
    customLinks: z.array(z.strictObject({ label: z.string(), url: z.string() })).default([]),
  })
  .prefault({})
  .describe('where an agent finds help about the product');
