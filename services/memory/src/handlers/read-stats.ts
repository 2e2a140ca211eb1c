import type { Result } from '@switchyard/contracts';
import type { Ctx } from '@switchyard/bus';
import type { HandlerDeps } from './handler-deps.ts';
import { getVisibleOwners } from '../entries/memory-scope.ts';

/** Counts the memories that the caller may see in the index of this replica. */
export async function readStats(
  { store, index, maker, queryVectors }: HandlerDeps,
  ctx: Pick<Ctx, 'principal' | 'signal'>,
): Promise<Result<'memory.stats'>> {
  const { principal } = ctx;
  const model = maker.model();
  const embedder = model === undefined ? {} : { embeddingProvider: model.name };
  const searchIndex = await index.get(ctx.signal);
  if (!searchIndex) return { ...EMPTY_STATS, ...embedder };
  const scope = {
    tenant: principal.tenant,
    group: principal.agent ?? principal.agents?.[0],
    owners: getVisibleOwners(principal),
    now: store.now(),
  };
  const [counted, { l1: cache }] = await Promise.all([searchIndex.stats(scope), queryVectors.stats()]);
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

const EMPTY_STATS = {
  totalEntries: 0,
  dbSizeBytes: 0,
  byType: {},
  byTrustLevel: {},
  byAgent: {},
  totalSessions: 0,
  embeddedEntries: 0,
  oldestCreatedAt: null,
};
