import { AgentId, MemoryType, TrustLevel } from '@switchyard/contracts';
import { collection, json } from '@switchyard/store';
import { workFields, workIndex } from '@switchyard/work';
import { z } from 'zod';

const instant = z.int().nonnegative();

/** A memory. A deleted memory stays for a day as an empty tombstone, so that every index removes it. */
export const EntryDocument = z.object({
  id: z.string(),
  agentId: AgentId,
  userId: z.string(),
  /** The only client that may find it; empty if all clients of the tenant may. */
  owner: z.string(),
  content: z.string(),
  memoryType: MemoryType,
  trustLevel: TrustLevel,
  who: z.string(),
  channel: z.string().optional(),
  sessionKey: z.string().optional(),
  sourceType: z.enum(['system', 'conversation', 'tool', 'web', 'api', 'unknown']),
  taintLevel: z.enum(['clean', 'wrapped', 'raw']),
  tags: z.array(z.string()),
  metadata: json(z.record(z.string(), z.unknown())).optional(),
  createdAt: instant,
  expiresAt: instant.optional(),
  /** Time of the last write by the database clock. The indexes follow it. */
  changedAt: instant,
  deletedAt: instant.optional(),
  /** Vector of a provider, one byte per dimension, as base64. */
  vector: z.string().optional(),
  /** Model and dimensions of the vector. Without a vector: the model that rejected the text. */
  vectorModel: z.string().optional(),
  /** Lease of the replica that requests the vector. */
  leasedBy: z.string().optional(),
  leasedUntil: instant.optional(),
  /** Set on an observation: when it was derived, its source memories and their sessions. */
  derivedAt: instant.optional(),
  sourceIds: z.array(z.string()).optional(),
  sourceSessions: z.array(z.string()).optional(),
  /** The observation that replaces this memory in searches. */
  mergedInto: z.string().optional(),
  /** When the database removes the document. */
  purgeAt: instant.optional(),
});
export type EntryDocument = z.infer<typeof EntryDocument>;

/** The cached vector of a search query. */
export const QueryVectorDocument = z.object({
  /** Hash of tenant, model and text. */
  id: z.string(),
  /** One byte per dimension, as base64. */
  vector: z.string(),
  createdAt: instant,
  /** When the database removes the document. */
  purgeAt: instant.optional(),
});
export type QueryVectorDocument = z.infer<typeof QueryVectorDocument>;

export const queryVectorCollection = collection({
  name: 'queryVectors',
  schema: QueryVectorDocument,
  key: 'id',
  indexes: [{ fields: ['createdAt'], across: true }],
  expires: { field: 'purgeAt', afterMs: 0 },
});

/** The reviews of the memories of an agent. Parked until the next scheduled time. */
export const ReviewDocument = z.object({
  ...workFields,
  agentId: AgentId,
  /** The schedule from which `fireAt` was computed. */
  schedule: z.string().optional(),
  /** The scheduled time of the next review. */
  fireAt: instant.optional(),
});
export type ReviewDocument = z.infer<typeof ReviewDocument>;

export const reviewCollection = collection({ name: 'reviews', schema: ReviewDocument, key: 'agentId', indexes: [workIndex] });

/** How long tombstones stay. An index that has not followed for half of this time is rebuilt. */
export const TOMBSTONE_TTL_MS = 86_400_000;
/** The maximum size of a request, whatever its encoding. */
const ENTRY_BYTES = 8_388_608;

export const entryCollection = collection({
  name: 'entries',
  schema: EntryDocument,
  key: 'id',
  maxBytes: ENTRY_BYTES,
  indexes: [
    { fields: ['changedAt'], across: true },
    { fields: ['vectorModel', 'deletedAt'], across: true },
    { fields: ['createdAt'], across: true },
    { fields: ['sessionKey'], sparse: true },
    { fields: ['derivedAt'], sparse: true },
  ],
  expires: { field: 'purgeAt', afterMs: 0 },
});
