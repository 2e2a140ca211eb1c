/** What one lane found, best first. */
export interface Lane {
  ids: readonly string[];
  weight: number;
}

export interface Fused {
  id: string;
  /** 1 is what every lane puts first. */
  score: number;
}

/** How much a place further down costs: the larger, the more alike are the first places. */
const RANK_OFFSET = 60;

/** One order out of several, by reciprocal ranks: scores of lanes cannot be compared, places can. Equal ones by id. */
export function fuse(lanes: readonly Lane[]): Fused[] {
  const sums = new Map<string, number>();
  for (const { ids, weight } of lanes) {
    ids.forEach((id, at) => sums.set(id, (sums.get(id) ?? 0) + weight / (RANK_OFFSET + at + 1)));
  }
  const best = lanes.reduce((sum, { weight }) => sum + weight / (RANK_OFFSET + 1), 0);
  return [...sums].map(([id, sum]) => ({ id, score: Math.min(1, sum / best) })).sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1));
}
