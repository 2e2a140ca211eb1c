import type { Result } from '@switchyard/contracts';
import type { Handler } from '@switchyard/bus';
import type { LevelStats } from '../vectors/query-vector-cache.ts';
import type { HandlerDeps } from './handler-deps.ts';

/** Statistics of this replica. Only the database level is shared by all replicas. */
export function memoryEmbeddingCache({ settings, maker, queryVectors }: HandlerDeps): Handler<'memory.embeddingCache'> {
  return async () => {
    const { enabled, cache } = settings.current.embedding;
    const { l1, l2 } = await queryVectors.stats();
    return {
      enabled: enabled && cache.maxEntries > 0,
      size: l1.entries,
      maxEntries: cache.maxEntries,
      hits: l1.hits,
      misses: l1.misses,
      hitRate: hitRate(l1),
      evictions: l1.evictions,
      l1: describeLevel(l1),
      ...(l2 === undefined ? {} : { l2: describeLevel(l2) }),
      provider: maker.model()?.name ?? null,
      vecAvailable: maker.model() !== undefined && maker.breaker() !== 'open',
      circuitBreaker: { state: maker.breaker() },
    };
  };
}

function describeLevel({ entries, maxEntries, hits, misses }: LevelStats): Result<'memory.embeddingCache'>['l1'] {
  return { entries, maxEntries, hitRate: hitRate({ hits, misses }), hits, misses };
}

function hitRate({ hits, misses }: Pick<LevelStats, 'hits' | 'misses'>): number {
  return hits + misses === 0 ? 0 : hits / (hits + misses);
}
