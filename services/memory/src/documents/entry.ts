import type { MemoryEntry } from '@switchyard/contracts';
import type { DeletedEntry, SearchEntry, VectorModel } from '@switchyard/store';
import type { EntryDocument } from './collections.ts';

/** An entry as it is shown: what it says and whence it is, which nothing changes after it was written. Its vector never leaves. */
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

/** The same as the index takes it. */
export function toIndexed(tenant: string, entry: EntryDocument, model?: VectorModel): SearchEntry | DeletedEntry {
  const { id, changedAt: version } = entry;
  if (entry.goneAt !== undefined || entry.mergedInto !== undefined) return { tenant, id, version, gone: true };
  const { agentId: group, owner, memoryType: kind, trustLevel: trust, tags, sessionKey: session = '', content: text } = entry;
  const { takenBy: _by, takenUntil: _until, ...kept } = entry;
  const bytes = Buffer.byteLength(JSON.stringify(kept));
  const vector =
    model !== undefined && entry.vectorOf === model.name && entry.vector ? new Int8Array(Buffer.from(entry.vector, 'base64')) : undefined;
  const { createdAt, expiresAt } = entry;
  return { tenant, id, group, owner, kind, trust, tags, session, text, bytes, createdAt, expiresAt, version, vector };
}
