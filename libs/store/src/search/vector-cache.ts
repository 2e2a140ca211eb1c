import { hashEmbedding } from './hash-embedding.ts';
import type { VectorCacheStats } from './search-index.ts';

/** Vectors of questions, since the same ones are asked again. What was asked longest ago goes first. */
export function createVectorCache(most: number): { vectorOf: (text: string) => Int8Array; stats: () => VectorCacheStats } {
  const kept = new Map<string, Int8Array>();
  const counts = { hits: 0, misses: 0, evictions: 0 };
  return {
    vectorOf(text) {
      const known = kept.get(text);
      if (known) {
        counts.hits += 1;
        kept.delete(text);
        kept.set(text, known);
        return known;
      }
      counts.misses += 1;
      const vector = hashEmbedding(text);
      if (most > 0) kept.set(text, vector);
      const [oldest] = kept.keys();
      if (kept.size > most && oldest !== undefined) {
        kept.delete(oldest);
        counts.evictions += 1;
      }
      return vector;
    },
    stats: () => ({ size: kept.size, ...counts }),
  };
}
