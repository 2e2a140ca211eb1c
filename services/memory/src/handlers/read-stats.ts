import type { Result } from '@switchyard/contracts';
import type { Ctx } from '@switchyard/bus';
import type { HandlerDeps } from './handler-deps.ts';
import type { VectorMaker } from '../vectors/vector-maker.ts';
import { getVisibleOwners } from '../entries/memory-scope.ts';

/** The name of the embedding model for clients. */
export function getEmbedderName({ model }: Pick<VectorMaker, 'model'>): string {
  return model()?.name ?? 'local';
}

/** Counts the memories that the caller may see in the index of this replica. */
export async function readStats(
  { store, index, settings, maker, queryVectors }: HandlerDeps,
  ctx: Pick<Ctx, 'principal' | 'signal'>,
): Promise<Result<'memory.stats'>> {
  const { principal } = ctx;
  const embeddingEnabled = settings.current.embedding.enabled;
  const searchIndex = await index.get(ctx.signal);
  if (!searchIndex) return { ...EMPTY_STATS, ...(embeddingEnabled ? { embeddingProvider: getEmbedderName(maker) } : {}) };
  const scope = {
    tenant: principal.tenant,
    group: principal.agent ?? principal.agents?.[0],
    owners: getVisibleOwners(principal),
    now: store.now(),
  };
  const [counted, { hits, misses }] = await Promise.all([
    searchIndex.stats(scope),
    maker.model() === undefined ? searchIndex.cacheStats() : queryVectors.stats().then(({ l1 }) => l1),
  ]);
  return {
    totalEntries: counted.entries,
    dbSizeBytes: counted.bytes,
    ...(embeddingEnabled ? { embeddingProvider: getEmbedderName(maker) } : {}),
    ...(embeddingEnabled && hits + misses > 0 ? { cacheHitRate: hits / (hits + misses) } : {}),
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
