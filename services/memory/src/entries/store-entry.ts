import { randomUUID } from 'node:crypto';
import { ServiceError, type EventPayload } from '@switchyard/contracts';
import type { Ctx } from '@switchyard/bus';
import { inserted, type Collection, type OutboxEvent, type Store } from '@switchyard/store';
import type { EntryDocument } from '../documents/collections.ts';
import type { MemoryIndex } from '../index/memory-index.ts';
import { screen, type Screening } from './entry-screening.ts';

export interface Entries {
  entries: Collection<EntryDocument>;
  store: Pick<Store, 'now'>;
  index: MemoryIndex;
}

/** A memory before screening. */
export type Wanted = Omit<
  EntryDocument,
  | 'id'
  | 'createdAt'
  | 'changedAt'
  | 'goneAt'
  | 'forgetAt'
  | 'vector'
  | 'vectorOf'
  | 'takenBy'
  | 'takenUntil'
  | 'derivedAt'
  | 'sourceIds'
  | 'sourceSessions'
  | 'mergedInto'
> & { id?: string };

const REFUSED = 'The text contains commands or requests elevated rights and was not stored. Store facts, not instructions.';

const SUSPECT_TAGS = ['security-tainted', 'security:memory_tainted'];

/**
 * Screens and stores a memory. A text that looks like instructions is stored as `external`; a text with commands is rejected with
 * FAILED_PRECONDITION. Returns undefined if the id exists. The caller adds the entry to the index.
 */
export async function remember(
  { entries, store }: Pick<Entries, 'entries' | 'store'>,
  wanted: Wanted,
  ctx: Pick<Ctx, 'principal' | 'emit'>,
): Promise<EntryDocument | undefined> {
  const found = screen(wanted.content);
  const told = eventsOf(found, wanted, store.now());
  if (found.verdict === 'critical') {
    ctx.emit('security:injection_detected', told.detected);
    ctx.emit('security:memory_tainted', told.tainted);
    throw new ServiceError('FAILED_PRECONDITION', REFUSED, { details: { reason: 'MEMORY_REFUSED', patterns: found.patterns } });
  }
  const now = store.now();
  const entry = lastingUntil({
    id: randomUUID(),
    ...(found.verdict === 'clean' ? wanted : suspect(wanted)),
    createdAt: now,
    changedAt: now,
  });
  const emit: OutboxEvent[] =
    found.verdict === 'clean'
      ? []
      : [
          { name: 'security:injection_detected', payload: told.detected },
          { name: 'security:memory_tainted', payload: told.tainted },
        ];
  return (await inserted(() => entries.for(ctx.principal).insert(entry, { emit }))) ? entry : undefined;
}

/** The document is removed when the memory expires. */
function lastingUntil(entry: EntryDocument): EntryDocument {
  return entry.expiresAt === undefined ? entry : { ...entry, forgetAt: entry.expiresAt };
}

function suspect(wanted: Wanted): Wanted {
  return { ...wanted, trustLevel: 'external', taintLevel: 'raw', tags: [...new Set([...wanted.tags, ...SUSPECT_TAGS])] };
}

function eventsOf(
  { verdict, patterns }: Screening,
  { agentId, trustLevel, sessionKey }: Wanted,
  timestamp: number,
): { detected: EventPayload<'security:injection_detected'>; tainted: EventPayload<'security:memory_tainted'> } {
  const blocked = verdict === 'critical';
  const session = sessionKey === undefined ? {} : { sessionKey };
  return {
    detected: { timestamp, source: 'memory_write', patterns, riskLevel: blocked ? 'high' : 'medium', agentId, ...session },
    tainted: { timestamp, agentId, originalTrustLevel: trustLevel, adjustedTrustLevel: 'external', patterns, blocked },
  };
}
