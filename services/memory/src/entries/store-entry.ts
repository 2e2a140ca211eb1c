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

/** Something to remember, before anybody has looked at what it says. */
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

/** What is said of a text that is not remembered. */
const REFUSED = 'The text asks for commands or elevated rights, and is not remembered; say what is to be known, not what is to be done.';

const SUSPECT_TAGS = ['security-tainted', 'security:memory_tainted'];

/**
 * Keeps an entry, if what it says may be kept. One that looks like instructions is trusted as what comes from outside;
 * FAILED_PRECONDITION for one that asks for commands. Undefined when there is one of its id already. Whoever answers for it tells the
 * index first.
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

/** Nothing is kept longer than it can be found. */
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
