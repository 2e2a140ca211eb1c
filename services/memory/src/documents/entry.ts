import type { MemoryEntry } from '@switchyard/contracts';
import type { DeletedEntry, SearchEntry, VectorModel } from '@switchyard/store';
import type { EntryDocument } from './collections.ts';

/** Converts a document to the entry of the API. The vector is never returned. */
export function toEntry(tenant: string, entry: EntryDocument, score?: number): MemoryEntry {
  const { id, agentId, userId, content, memoryType, trustLevel, who, channel, sessionKey, sourceType, taintLevel, tags } = entry;
  const { metadata, createdAt, expiresAt, sourceIds } = entry;
  return {
    id,
    tenantId: tenant,
    agentId,
    userId,
    content,
    memoryType,
    trustLevel,
    sourceType,
    taintLevel,
    tags,
    createdAt,
    source: { who, ...(channel === undefined ? {} : { channel }), ...(sessionKey === undefined ? {} : { sessionKey }) },
    ...(metadata === undefined ? {} : { metadata }),
    ...(sourceIds === undefined ? {} : { sources: sourceIds }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(score === undefined ? {} : { score }),
  };
}

/** Converts a document to an entry of the search index. */
export function toSearchEntry(tenant: string, entry: EntryDocument, model?: VectorModel): SearchEntry | DeletedEntry {
  const { id, changedAt: version } = entry;
  if (entry.deletedAt !== undefined || entry.mergedInto !== undefined) return { tenant, id, version, gone: true };
  const { agentId: group, owner, memoryType: kind, trustLevel: trust, tags, sessionKey: session = '', content: text } = entry;
  const { leasedBy: _by, leasedUntil: _until, ...indexed } = entry;
  const bytes = Buffer.byteLength(JSON.stringify(indexed));
  const vector =
    model !== undefined && entry.vectorModel === model.name && entry.vector
      ? new Int8Array(Buffer.from(entry.vector, 'base64'))
      : undefined;
  const { createdAt, expiresAt } = entry;
  return { tenant, id, group, owner, kind, trust, tags, session, text, bytes, createdAt, expiresAt, version, vector };
}
