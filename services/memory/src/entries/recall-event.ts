import type { Ctx } from '@switchyard/bus';
import type { SearchHits } from '@switchyard/store';

/** Measurements of a recall. */
export interface RecallStats {
  agentId: string;
  /** Whether vectors were searched as well. */
  vectors: boolean;
  candidates: Pick<SearchHits, 'textCandidates' | 'vectorCandidates'>;
  found: number;
  /** By `performance.now()`. */
  startedAt: number;
  now: number;
  reranked: boolean;
}

/** Emits `memory:recalled` without the query and the results. */
export function emitRecalled(ctx: Pick<Ctx, 'emit'>, { agentId, vectors, candidates, found, startedAt, now, reranked }: RecallStats): void {
  ctx.emit('memory:recalled', {
    timestamp: now,
    agentId,
    lanes: vectors ? ['text', 'vector'] : ['text'],
    ftsCandidates: candidates.textCandidates,
    vectorCandidates: candidates.vectorCandidates,
    entityCandidates: 0,
    finalCount: found,
    rerankerAvailable: reranked,
    durationMs: Math.round(performance.now() - startedAt),
  });
}
