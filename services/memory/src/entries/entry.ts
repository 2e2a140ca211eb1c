import type { MemoryEntry } from '@switchyard/contracts';
import type { GoneEntry, SearchEntry } from '@switchyard/store';
import type { EntryDocument } from '../data.ts';

/** An entry as it is shown. */
export function toEntry(tenant: string, entry: EntryDocument, score?: number): MemoryEntry {
  const { who, channel, sessionKey, owner: _owner, changedAt, goneAt: _gone, forgetAt: _forget, metadata, expiresAt, ...shown } = entry;
  return {
    ...shown,
    tenantId: tenant,
    source: { who, ...(channel === undefined ? {} : { channel }), ...(sessionKey === undefined ? {} : { sessionKey }) },
    ...(metadata === undefined ? {} : { metadata }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(changedAt === entry.createdAt ? {} : { updatedAt: changedAt }),
    ...(score === undefined ? {} : { score }),
  };
}

/** The same as the index takes it. */
export function toIndexed(tenant: string, entry: EntryDocument): SearchEntry | GoneEntry {
  const { id, changedAt: version } = entry;
  if (entry.goneAt !== undefined) return { tenant, id, version, gone: true };
  const { agentId: group, owner, memoryType: kind, trustLevel: trust, tags, sessionKey: session = '', content: text } = entry;
  const bytes = Buffer.byteLength(JSON.stringify(entry));
  const { createdAt, expiresAt } = entry;
  return { tenant, id, group, owner, kind, trust, tags, session, text, bytes, createdAt, expiresAt, version };
}
