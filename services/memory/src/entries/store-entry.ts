import { randomUUID } from 'node:crypto';
import { ServiceError, type EventPayload } from '@switchyard/contracts';
import type { Ctx } from '@switchyard/bus';
import { inserted, type Collection, type OutboxEvent, type Store } from '@switchyard/store';
import type { EntryDocument } from '../documents/collections.ts';
import type { MemoryIndex } from '../index/memory-index.ts';
import { screenText, type Screening } from './entry-screening.ts';

export interface EntryDeps {
  entries: Collection<EntryDocument>;
  store: Pick<Store, 'now'>;
  index: MemoryIndex;
}

/** A memory before screening. */
export type NewEntry = Omit<
  EntryDocument,
  | 'id'
  | 'createdAt'
  | 'changedAt'
  | 'deletedAt'
  | 'purgeAt'
  | 'vector'
  | 'vectorModel'
  | 'leasedBy'
  | 'leasedUntil'
  | 'derivedAt'
  | 'sourceIds'
  | 'sourceSessions'
  | 'mergedInto'
> & { id?: string };

const REJECTED = 'The text contains commands or requests elevated rights and was not stored. Store facts, not instructions.';

const SUSPECT_TAGS = ['security-tainted', 'security:memory_tainted'];

/**
 * Screens and stores a memory. A text that looks like instructions is stored as `external`; a text with commands is rejected with
 * FAILED_PRECONDITION. Returns undefined if the id exists. The caller adds the entry to the index.
 */
export async function storeEntry(
  { entries, store }: Pick<EntryDeps, 'entries' | 'store'>,
  entryToStore: NewEntry,
  ctx: Pick<Ctx, 'principal' | 'emit'>,
): Promise<EntryDocument | undefined> {
  const screening = screenText(entryToStore.content);
  const events = createEvents(screening, entryToStore, store.now());
  if (screening.verdict === 'critical') {
    ctx.emit('security:injection_detected', events.detected);
    ctx.emit('security:memory_tainted', events.tainted);
    throw new ServiceError('FAILED_PRECONDITION', REJECTED, { details: { reason: 'MEMORY_REFUSED', patterns: screening.patterns } });
  }
  const now = store.now();
  const entry = withExpiry({
    id: randomUUID(),
    ...(screening.verdict === 'clean' ? entryToStore : markSuspicious(entryToStore)),
    createdAt: now,
    changedAt: now,
  });
  const emit: OutboxEvent[] =
    screening.verdict === 'clean'
      ? []
      : [
          { name: 'security:injection_detected', payload: events.detected },
          { name: 'security:memory_tainted', payload: events.tainted },
        ];
  return (await inserted(() => entries.for(ctx.principal).insert(entry, { emit }))) ? entry : undefined;
}

/** The document is removed when the memory expires. */
function withExpiry(entry: EntryDocument): EntryDocument {
  return entry.expiresAt === undefined ? entry : { ...entry, purgeAt: entry.expiresAt };
}

function markSuspicious(entryToStore: NewEntry): NewEntry {
  return { ...entryToStore, trustLevel: 'external', taintLevel: 'raw', tags: [...new Set([...entryToStore.tags, ...SUSPECT_TAGS])] };
}

function createEvents(
  { verdict, patterns }: Screening,
  { agentId, trustLevel, sessionKey }: NewEntry,
  timestamp: number,
): { detected: EventPayload<'security:injection_detected'>; tainted: EventPayload<'security:memory_tainted'> } {
  const blocked = verdict === 'critical';
  const session = sessionKey === undefined ? {} : { sessionKey };
  return {
    detected: { timestamp, source: 'memory_write', patterns, riskLevel: blocked ? 'high' : 'medium', agentId, ...session },
    tainted: { timestamp, agentId, originalTrustLevel: trustLevel, adjustedTrustLevel: 'external', patterns, blocked },
  };
}
