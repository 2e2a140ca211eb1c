const MAX_DURATIONS = 20;
/** Earlier runs that a median needs. */
const MIN_DURATIONS = 5;
/** A run that takes longer than the median by this factor is logged. */
export const SLOW_RUN_FACTOR = 3;

/** Returns the durations of the last runs with one more. */
export function addDuration(durations: readonly number[] = [], durationMs: number): number[] {
  return [...durations, durationMs].slice(-MAX_DURATIONS);
}

/** Returns the median of the durations; undefined with too few of them. */
export function getMedian(durations: readonly number[]): number | undefined {
  if (durations.length < MIN_DURATIONS) return undefined;
  const sorted = durations.toSorted((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  const [low = 0, high = 0] = [sorted[sorted.length % 2 === 0 ? middle - 1 : middle], sorted[middle]];
  return (low + high) / 2;
}
