import type { Result } from '@switchyard/contracts';
import type { Handler } from '@switchyard/bus';
import type { LevelStats } from '../vectors/query-vector-cache.ts';
import type { Given } from './handler-deps.ts';

/** Statistics of this replica. Only the database level is shared by all replicas. */
export function memoryEmbeddingCache({ index, settings, maker, questions }: Given): Handler<'memory.embeddingCache'> {
  return async (_params, ctx) => {
    const { enabled, cache } = settings.current.embedding;
    const { l1, l2 } = await questions.stats();
    return {
      enabled: enabled && cache.maxEntries > 0,
      size: l1.entries,
      maxEntries: cache.maxEntries,
      hits: l1.hits,
      misses: l1.misses,
      hitRate: hitRate(l1),
      evictions: l1.evictions,
      l1: levelOf(l1),
      ...(l2 === undefined ? {} : { l2: levelOf(l2) }),
      provider: maker.model()?.name ?? null,
      vecAvailable: maker.model() !== undefined && maker.breaker() !== 'open',
      circuitBreaker: { state: maker.breaker() },
    };

    /** Statistics of vectors that are computed by the index. */
    async function local(): Promise<LevelStats> {
      const there = await (await index.get(ctx.signal))?.cacheStats();
      const { size, ...counts } = there ?? { size: 0, hits: 0, misses: 0, evictions: 0 };
      return { ...counts, entries: size, maxEntries: cache.maxEntries };
    }
  };
}

function levelOf({ entries, maxEntries, hits, misses }: LevelStats): Result<'memory.embeddingCache'>['l1'] {
  return { entries, maxEntries, hitRate: hitRate({ hits, misses }), hits, misses };
}

function hitRate({ hits, misses }: Pick<LevelStats, 'hits' | 'misses'>): number {
  return hits + misses === 0 ? 0 : hits / (hits + misses);
}
