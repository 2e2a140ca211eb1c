/** Words recur. Longer runs of characters rarely do. */
const MAX_RUN_LENGTH = 24;
const MAX_RUNS = 10_000;

/** Caches the result of folding short runs of characters. */
export function createWordCache<T>(fold: (run: string) => T): (run: string) => T {
  const cache = new Map<string, T>();
  return (run) => {
    if (run.length > MAX_RUN_LENGTH) return fold(run);
    let folded = cache.get(run);
    if (folded === undefined) {
      folded = fold(run);
      if (cache.size >= MAX_RUNS) cache.clear();
      cache.set(run, folded);
    }
    return folded;
  };
}
