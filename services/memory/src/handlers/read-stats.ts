import type { Result } from '@switchyard/contracts';
import type { Ctx } from '@switchyard/bus';
import type { Given } from './handler-deps.ts';
import type { VectorMaker } from '../vectors/vector-maker.ts';
import { ownersFor } from '../entries/memory-scope.ts';

/** What vectors are made by, as clients are told. */
export function embedderOf({ model }: Pick<VectorMaker, 'model'>): string {
  return model()?.name ?? 'local';
}

/** What the caller may know of, counted in this replica's index. */
export async function readStats(
  { store, index, settings, maker, questions }: Given,
  ctx: Pick<Ctx, 'principal' | 'signal'>,
): Promise<Result<'memory.stats'>> {
  const { principal } = ctx;
  const embeds = settings.current.embedding.enabled;
  const there = await index.get(ctx.signal);
  if (!there) return { ...NOTHING, ...(embeds ? { embeddingProvider: embedderOf(maker) } : {}) };
  const scope = {
    tenant: principal.tenant,
    group: principal.agent ?? principal.agents?.[0],
    owners: ownersFor(principal),
    now: store.now(),
  };
  const [counted, { hits, misses }] = await Promise.all([
    there.stats(scope),
    maker.model() === undefined ? there.cacheStats() : questions.stats().then(({ l1 }) => l1),
  ]);
  return {
    totalEntries: counted.entries,
    dbSizeBytes: counted.bytes,
    ...(embeds ? { embeddingProvider: embedderOf(maker) } : {}),
    ...(embeds && hits + misses > 0 ? { cacheHitRate: hits / (hits + misses) } : {}),
    byType: counted.byKind,
    byTrustLevel: counted.byTrust,
    byAgent: counted.byGroup,
    totalSessions: counted.sessions,
    embeddedEntries: counted.vectors,
    oldestCreatedAt: counted.oldestCreatedAt,
  };
}

const NOTHING = {
  totalEntries: 0,
  dbSizeBytes: 0,
  byType: {},
  byTrustLevel: {},
  byAgent: {},
  totalSessions: 0,
  embeddedEntries: 0,
  oldestCreatedAt: null,
};
