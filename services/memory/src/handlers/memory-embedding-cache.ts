import type { Handler } from '@switchyard/bus';
import { embedderOf } from '../entries/stats.ts';
import type { Given } from './given.ts';

/** Of this replica; each remembers what it was asked itself. */
export function memoryEmbeddingCache({ index, settings, maker }: Given): Handler<'memory.embeddingCache'> {
  return async (_params, ctx) => {
    const { enabled, cache } = settings.current.embedding;
    const there = await index.get(ctx.signal);
    const asked = maker.model() === undefined ? await there?.cacheStats() : maker.stats();
    const { size, hits, misses, evictions } = asked ?? { size: 0, hits: 0, misses: 0, evictions: 0 };
    return {
      enabled: enabled && cache.maxEntries > 0,
      size,
      maxEntries: cache.maxEntries,
      hits,
      misses,
      hitRate: hits + misses === 0 ? 0 : hits / (hits + misses),
      evictions,
      provider: enabled ? embedderOf(maker) : null,
      vecAvailable: enabled && maker.breaker() !== 'open',
      circuitBreaker: { state: maker.breaker() },
    };
  };
}
