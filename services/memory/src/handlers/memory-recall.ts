import type { Handler } from '@switchyard/bus';
import type { EntryDocument } from '../documents/collections.ts';
import { readVisible } from '../entries/read-entries.ts';
import { emitRecalled } from '../entries/recall-event.ts';
import { SHARED } from '../entries/memory-scope.ts';
import { embedQueryVector } from './query-vectors.ts';
import type { HandlerDeps } from './handler-deps.ts';

/** Texts that share a beginning of this length count as duplicates. */
const DUPLICATE_PREFIX_CHARS = 200;
const OVER_FETCH_FACTOR = 2;
const MAX_HITS = 100;
/** A turn waits 150 ms for the recall, so the vector must leave time for the word search. */
const VECTOR_TIMEOUT_MS = 100;

/** Recalls shared memories and memories of the client. Conversations of other clients are never recalled, whatever the token may read. */
export function memoryRecall(deps: HandlerDeps): Handler<'memory.recall'> {
  const { entries, store, index } = deps;
  return async ({ agentId, query, maxResults, maxChars, minScore, trustLevels, reranked = false }, ctx) => {
    const { principal } = ctx;
    const startedAt = performance.now();
    const searchIndex = await index.get(ctx.signal);
    if (!searchIndex) return { entries: [], empty: true, textCandidates: 0, vectorCandidates: 0 };
    const vector = await embedQueryVector(deps, query, {
      principal: ctx.principal,
      signal: ctx.signal,
      agentId,
      timeoutMs: VECTOR_TIMEOUT_MS,
    });
    const now = store.now();
    const scope = { tenant: principal.tenant, group: agentId, owners: [SHARED, principal.client], trust: trustLevels, now };
    const limit = Math.min(maxResults * OVER_FETCH_FACTOR, MAX_HITS);
    const { hits, ...candidates } = await searchIndex.search({ ...scope, text: query, limit, vector });
    const scores = new Map(hits.filter(({ score }) => score >= minScore).map(({ id, score }) => [id, score]));
    const agentPrincipal = { ...principal, agent: agentId };
    const matches = await readVisible(entries, agentPrincipal, { ids: [...scores.keys()], now });
    const selected = selectFitting(matches, { maxResults, maxChars });
    emitRecalled(ctx, { agentId, vectors: vector !== undefined, candidates, found: selected.length, startedAt, now, reranked });
    return {
      entries: selected.map(({ id, content, memoryType, trustLevel, createdAt }) => {
        return { id, content, memoryType, trustLevel, createdAt, score: scores.get(id) ?? 0 };
      }),
      empty: hits.length === 0 && !(await searchIndex.has(scope)),
      ...candidates,
    };
  };
}

/** The best entries that fit. A text that is too long is skipped, because a part of it could mislead. */
function selectFitting(
  found: readonly EntryDocument[],
  { maxResults, maxChars }: { maxResults: number; maxChars: number },
): EntryDocument[] {
  const beginnings = new Set<string>();
  const selected: EntryDocument[] = [];
  let remainingChars = maxChars;
  for (const entry of found) {
    const beginning = entry.content.slice(0, DUPLICATE_PREFIX_CHARS);
    if (selected.length === maxResults) break;
    if (entry.content.length > remainingChars || beginnings.has(beginning)) continue;
    beginnings.add(beginning);
    selected.push(entry);
    remainingChars -= entry.content.length;
  }
  return selected;
}
