import type { Result } from '@switchyard/contracts';
import type { Handler } from '@switchyard/bus';
import { getEmbedderName } from './read-stats.ts';
import type { LevelStats } from '../vectors/query-vector-cache.ts';
import type { HandlerDeps } from './handler-deps.ts';

/** Statistics of this replica. Only the database level is shared by all replicas. */
export function memoryEmbeddingCache({ index, settings, maker, queryVectors }: HandlerDeps): Handler<'memory.embeddingCache'> {
  return async (_params, ctx) => {
    const { enabled, cache } = settings.current.embedding;
    const { l1, l2 } = maker.model() === undefined ? { l1: await readIndexCache() } : await queryVectors.stats();
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
      provider: enabled ? getEmbedderName(maker) : null,
      vecAvailable: enabled && maker.breaker() !== 'open',
      circuitBreaker: { state: maker.breaker() },
    };

    /** Statistics of vectors that are computed by the index. */
    async function readIndexCache(): Promise<LevelStats> {
      const cacheStats = await (await index.get(ctx.signal))?.cacheStats();
      const { size, ...counts } = cacheStats ?? { size: 0, hits: 0, misses: 0, evictions: 0 };
      return { ...counts, entries: size, maxEntries: cache.maxEntries };
    }
  };
}

function describeLevel({ entries, maxEntries, hits, misses }: LevelStats): Result<'memory.embeddingCache'>['l1'] {
  return { entries, maxEntries, hitRate: hitRate({ hits, misses }), hits, misses };
}

function hitRate({ hits, misses }: Pick<LevelStats, 'hits' | 'misses'>): number {
  return hits + misses === 0 ? 0 : hits / (hits + misses);
}
