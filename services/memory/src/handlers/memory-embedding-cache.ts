import type { Handler } from '@switchyard/bus';
import { EMBEDDER } from '../entries/stats.ts';
import type { Given } from './given.ts';

/** Of this replica; each remembers what it was asked itself. */
export function memoryEmbeddingCache({ index, settings }: Given): Handler<'memory.embeddingCache'> {
  return async (_params, ctx) => {
    const { enabled, cache } = settings.current.embedding;
    const there = await index.get(ctx.signal);
    const { size, hits, misses, evictions } = (await there?.cacheStats()) ?? { size: 0, hits: 0, misses: 0, evictions: 0 };
    return {
      enabled: enabled && cache.maxEntries > 0,
      size,
      maxEntries: cache.maxEntries,
      hits,
      misses,
      hitRate: hits + misses === 0 ? 0 : hits / (hits + misses),
      evictions,
      provider: enabled ? EMBEDDER : null,
      vecAvailable: enabled,
      circuitBreaker: { state: 'closed' },
    };
  };
}
