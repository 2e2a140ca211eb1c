import type { Handler } from '@switchyard/bus';
import type { EntryDocument } from '../documents/collections.ts';
import { readFound } from '../entries/read-entries.ts';
import { tellRecalled } from '../entries/recall-event.ts';
import { SHARED } from '../entries/memory-scope.ts';
import { vectorsFor } from './query-vectors.ts';
import type { Given } from './handler-deps.ts';

/** Texts that share a beginning of this length count as duplicates. */
const ALIKE_CHARS = 200;
const OVER_FETCH = 2;
const MOST = 100;
/** A turn waits 150 ms for the recall, so the vector must leave time for the word search. */
const VECTOR_MS = 100;

/** Recalls shared memories and memories of the client. Conversations of other clients are never recalled, whatever the token may read. */
export function memoryRecall(given: Given): Handler<'memory.recall'> {
  const { entries, store, index } = given;
  return async ({ agentId, query, maxResults, maxChars, minScore, trustLevels, reranked = false }, ctx) => {
    const { principal } = ctx;
    const startedAt = performance.now();
    const there = await index.get(ctx.signal);
    if (!there) return { entries: [], empty: true, textCandidates: 0, vectorCandidates: 0 };
    const vector = await vectorsFor(given, query, { principal: ctx.principal, signal: ctx.signal, agentId, withinMs: VECTOR_MS });
    const now = store.now();
    const scope = { tenant: principal.tenant, group: agentId, owners: [SHARED, principal.client], trust: trustLevels, now };
    const limit = Math.min(maxResults * OVER_FETCH, MOST);
    const { hits, ...candidates } = await there.search({ ...scope, text: query, limit, vector });
    const scores = new Map(hits.filter(({ score }) => score >= minScore).map(({ id, score }) => [id, score]));
    const asAgent = { ...principal, agent: agentId };
    const found = await readFound(entries, asAgent, { ids: [...scores.keys()], now });
    const kept = fitting(found, { maxResults, maxChars });
    tellRecalled(ctx, { agentId, vectors: vector !== undefined, candidates, found: kept.length, startedAt, now, reranked });
    return {
      entries: kept.map(({ id, content, memoryType, trustLevel, createdAt }) => {
        return { id, content, memoryType, trustLevel, createdAt, score: scores.get(id) ?? 0 };
      }),
      empty: hits.length === 0 && !(await there.has(scope)),
      ...candidates,
    };
  };
}

/** The best entries that fit. A text that is too long is skipped, because a part of it could mislead. */
function fitting(found: readonly EntryDocument[], { maxResults, maxChars }: { maxResults: number; maxChars: number }): EntryDocument[] {
  const beginnings = new Set<string>();
  const kept: EntryDocument[] = [];
  let room = maxChars;
  for (const entry of found) {
    const beginning = entry.content.slice(0, ALIKE_CHARS);
    if (kept.length === maxResults) break;
    if (entry.content.length > room || beginnings.has(beginning)) continue;
    beginnings.add(beginning);
    kept.push(entry);
    room -= entry.content.length;
  }
  return kept;
}
