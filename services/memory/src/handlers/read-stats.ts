import type { Result } from '@switchyard/contracts';
import type { Ctx } from '@switchyard/bus';
import type { Given } from './handler-deps.ts';
import { ownersFor } from '../entries/memory-scope.ts';

/** The name of the embedding model for clients. */
export function embedderOf({ model }: Pick<VectorMaker, 'model'>): string {
  return model()?.name ?? 'local';
}

/** Counts the memories that the caller may see in the index of this replica. */
export async function readStats(
  { store, index, maker, questions }: Given,
  ctx: Pick<Ctx, 'principal' | 'signal'>,
): Promise<Result<'memory.stats'>> {
  const { principal } = ctx;
  const model = maker.model();
  const embedder = model === undefined ? {} : { embeddingProvider: model.name };
  const there = await index.get(ctx.signal);
  if (!there) return { ...NOTHING, ...embedder };
  const scope = {
    tenant: principal.tenant,
    group: principal.agent ?? principal.agents?.[0],
    owners: ownersFor(principal),
    now: store.now(),
  };
  const [counted, { l1: cache }] = await Promise.all([there.stats(scope), questions.stats()]);
  const lookups = cache.hits + cache.misses;
  return {
    totalEntries: counted.entries,
    dbSizeBytes: counted.bytes,
    ...embedder,
    ...(model !== undefined && lookups > 0 ? { cacheHitRate: cache.hits / lookups } : {}),
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
