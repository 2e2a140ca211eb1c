import { z } from 'zod';
import { AgentId, Count, JsonObject, NoParams, pageSize, Rate, Timestamp } from '../values/common.ts';
import { defineMethods } from '../definition/define.ts';
import { maxKeys } from '../values/max-keys.ts';
import { MAX, boundedString } from '../values/sizes.ts';
import { MemoryEntry, MemoryType, TrustLevel } from './entry.ts';

export const MemorySearchResult = z.object({ results: z.array(MemoryEntry).max(MAX.all).describe('best first') });

/** Counts of stored memories. */
export const MemoryStats = z.object({
  totalEntries: Count,
  dbSizeBytes: Count,
  embeddingProvider: boundedString(MAX.name).optional(),
  cacheHitRate: Rate.optional(),
  byType: z.record(boundedString(MAX.name), Count).check(maxKeys(MAX.many)).optional(),
  byTrustLevel: z.record(boundedString(MAX.name), Count).check(maxKeys(MAX.many)).optional(),
  byAgent: z.record(boundedString(MAX.name), Count).check(maxKeys(MAX.many)).optional(),
  totalSessions: Count.optional(),
  embeddedEntries: Count.optional(),
  oldestCreatedAt: Timestamp.nullable().optional().describe('null without memories'),
});

export const MemoryInspection = z.object({ entry: MemoryEntry.optional(), stats: MemoryStats.optional() });

export const MemoryPage = z.object({
  entries: z.array(MemoryEntry).max(MAX.all).describe('contents truncated to 500 characters'),
  total: Count,
  offset: Count,
  limit: z.int().positive(),
  hasMore: z.boolean(),
});

export const MemoryDeleted = z.object({ id: boundedString(MAX.id), deleted: z.literal(true) });

/** One level of a cache of vectors. */
const CacheLevel = z.object({ entries: Count, maxEntries: Count, hitRate: Rate, hits: Count, misses: Count });

export const EmbeddingCacheStats = z.object({
  enabled: z.boolean(),
  size: Count,
  maxEntries: Count,
  hits: Count,
  misses: Count,
  hitRate: Rate,
  evictions: Count,
  l1: CacheLevel.describe('entries cached in this replica'),
  l2: CacheLevel.optional().describe('entries in the database, if embedding.cache.persistent is set'),
  provider: boundedString(MAX.name).nullable().describe('null while search is full-text only'),
  vecAvailable: z.boolean().describe('whether the vector index is usable'),
  circuitBreaker: z.object({ state: z.enum(['closed', 'open', 'half-open']) }).optional(),
});

export const MemoryExport = z.object({ entries: z.array(MemoryEntry).max(MAX.all), exportedAt: Timestamp, totalEntries: Count });
export const MemoryFlushed = z.object({ flushed: z.literal(true), deletedCount: Count });
export const MemoryStored = z.object({ id: boundedString(MAX.id), stored: z.literal(true) });

const EntryId = z.string().min(1).max(128);

const entry = {
  id: '0193a6f2-7c1e-7d44-9a55-1f0c2b7d3e90',
  tenantId: 'default',
  agentId: 'default',
  userId: 'alice',
  content: 'Alice prefers short answers in the morning.',
  memoryType: 'semantic',
  trustLevel: 'learned',
  source: { who: 'alice', channel: 'telegram', sessionKey: 'default:alice:telegram' },
  sourceType: 'conversation',
  tags: ['preference'],
  createdAt: 1763719200000,
};

export const memoryMethods = defineMethods({
  'memory.store': {
    summary: 'Stores a text as a memory.',
    description:
      'A text that looks like an injection is stored as external and tagged security-tainted. A text that requests commands or elevated rights is rejected.',
    scope: 'admin',
    params: z.strictObject({
      content: z.string().min(1).max(MAX.text),
      metadata: JsonObject.optional(),
      memory_type: MemoryType.default('semantic'),
      tags: z.array(z.string().min(1).max(MAX.name)).max(20).default([]),
      expires_at: Timestamp.optional().describe('expiry in epoch milliseconds'),
      agent_id: AgentId.optional().describe('owner; default: the calling agent, else the default agent'),
    }),
    result: MemoryStored,
    blobs: ['content', 'metadata'],
    errors: ['FAILED_PRECONDITION', 'PERMISSION_DENIED', 'OUT_OF_RANGE'],
    emits: ['security:injection_detected', 'security:memory_tainted'],
    examples: [{ params: { content: entry.content, metadata: { topic: 'style' } }, result: { id: entry.id, stored: true } }],
  },
  'memory.search': {
    summary: 'Searches memories by words and meaning, best match first.',
    description:
      'Searches the memories of the calling agent and tenant without expired ones. Without an embedding model it is full-text only.',
    scope: 'rpc',
    params: z.strictObject({
      query: z.string().min(1).max(10_000),
      limit: pageSize(10, 100),
      agent_id: AgentId.optional().describe('default: the calling agent, else the default agent'),
    }),
    result: MemorySearchResult,
    blobs: ['results'],
    idempotent: true,
    reads: true,
    errors: ['PERMISSION_DENIED', 'UNAVAILABLE'],
    examples: [{ params: { query: 'how long should answers be', limit: 5 }, result: { results: [{ ...entry, score: 0.82 }] } }],
  },
  'memory.inspect': {
    summary: 'Returns one memory, or counts of all.',
    description: 'The result is empty for an unknown id or another tenantId.',
    scope: 'rpc',
    params: z.strictObject({ id: EntryId.optional(), tenantId: z.string().min(1).max(64).optional() }),
    result: MemoryInspection,
    blobs: ['entry', 'stats'],
    idempotent: true,
    reads: true,
    errors: ['UNAVAILABLE'],
    examples: [
      { params: { id: entry.id }, result: { entry } },
      { params: {}, result: { stats: { totalEntries: 1, dbSizeBytes: 40_960 } } },
    ],
  },
  'memory.browse': {
    summary: 'Lists memories page by page, newest first by default.',
    scope: 'admin',
    params: z.strictObject({
      offset: z.int().nonnegative().default(0),
      limit: pageSize(20, 500),
      sort: z.enum(['newest', 'oldest']).default('newest'),
      memory_type: MemoryType.optional(),
      trust_level: TrustLevel.optional(),
      tags: z.array(z.string().min(1).max(MAX.name)).max(20).optional().describe('entries with all of these tags'),
      agent_id: AgentId.optional(),
    }),
    result: MemoryPage,
    blobs: ['entries'],
    idempotent: true,
    errors: ['UNAVAILABLE'],
    examples: [
      {
        params: { offset: 0, limit: 20, memory_type: 'semantic' },
        result: { entries: [entry], total: 1, offset: 0, limit: 20, hasMore: false },
      },
    ],
  },
  'memory.delete': {
    summary: 'Deletes one memory permanently.',
    scope: 'admin',
    audited: 'destructive',
    params: z.strictObject({ id: EntryId }),
    result: MemoryDeleted,
    errors: ['NOT_FOUND'],
    emits: ['audit:event'],
    examples: [{ params: { id: entry.id }, result: { id: entry.id, deleted: true } }],
  },
  'memory.embeddingCache': {
    summary: 'Returns statistics of the embedding cache.',
    scope: 'admin',
    params: NoParams,
    result: EmbeddingCacheStats,
    idempotent: true,
    examples: [
      {
        params: {},
        result: {
          enabled: true,
          size: 812,
          maxEntries: 10_000,
          hits: 640,
          misses: 160,
          hitRate: 0.8,
          evictions: 0,
          l1: { entries: 812, maxEntries: 10_000, hitRate: 0.8, hits: 640, misses: 160 },
          provider: null,
          vecAvailable: false,
        },
      },
    ],
  },
  'memory.export': {
    summary: 'Exports all memories of the tenant.',
    scope: 'admin',
    params: NoParams,
    result: MemoryExport,
    deadlineMs: 120_000,
    idempotent: true,
    blobs: ['entries'],
    examples: [{ params: {}, result: { entries: [entry], exportedAt: 1763722800000, totalEntries: 1 } }],
  },
  'memory.stats': {
    summary: 'Returns entry counts and storage size.',
    scope: 'admin',
    params: NoParams,
    result: MemoryStats,
    blobs: ['byType', 'byTrustLevel', 'byAgent'],
    idempotent: true,
    errors: ['UNAVAILABLE'],
    examples: [
      {
        params: {},
        result: {
          totalEntries: 1,
          dbSizeBytes: 40_960,
          embeddingProvider: 'openai/text-embedding-3-small@1536',
          cacheHitRate: 0.8,
          byType: { semantic: 1 },
          byTrustLevel: { learned: 1 },
          byAgent: { default: 1 },
          totalSessions: 1,
          embeddedEntries: 1,
          oldestCreatedAt: 1763719200000,
        },
      },
    ],
  },
  'memory.flush': {
    summary: 'Deletes all memories of the tenant, including system entries.',
    description: 'This cannot be undone.',
    scope: 'admin',
    audited: 'destructive',
    params: NoParams,
    result: MemoryFlushed,
    deadlineMs: 120_000,
    idempotent: true,
    errors: ['PERMISSION_DENIED'],
    emits: ['audit:event'],
    examples: [{ params: {}, result: { flushed: true, deletedCount: 812 } }],
  },
});
