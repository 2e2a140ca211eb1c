/** The result of one retrieval method, best first. */
export interface RankedList {
  ids: readonly string[];
  weight: number;
}

export interface FusedResult {
  id: string;
  /** 1 for an entry that every list ranks first. */
  score: number;
}

/** Constant of reciprocal rank fusion. A larger value reduces the difference between the first ranks. */
const RANK_OFFSET = 60;

/** Merges lists by weighted reciprocal rank, because scores of different methods are not comparable. Ties are ordered by id. */
export function fuseRankings(lists: readonly RankedList[]): FusedResult[] {
  const sums = new Map<string, number>();
  for (const { ids, weight } of lists) {
    ids.forEach((id, index) => sums.set(id, (sums.get(id) ?? 0) + weight / (RANK_OFFSET + index + 1)));
  }
  const max = lists.reduce((sum, { weight }) => sum + weight / (RANK_OFFSET + 1), 0);
  return [...sums].map(([id, sum]) => ({ id, score: Math.min(1, sum / max) })).sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1));
}
