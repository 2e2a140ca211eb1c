import type { Handler } from '@switchyard/bus';
import { toEntry } from '../documents/entry.ts';
import { readFound } from '../entries/read-entries.ts';
import { agentOf, ownersFor } from '../entries/memory-scope.ts';
import { vectorsFor } from './query-vectors.ts';
import type { Given } from './handler-deps.ts';

/** After this time a search continues without the vector of its query. */
const VECTOR_MS = 2_000;

export function memorySearch(given: Given): Handler<'memory.search'> {
  const { entries, store, index, settings } = given;
  return async ({ query, limit, agent_id }, ctx) => {
    const { principal } = ctx;
    const group = agentOf(principal, agent_id, settings.current.routing);
    const found = await index.get(ctx.signal);
    const vector = found
      ? await vectorsFor(given, query, { principal: ctx.principal, signal: ctx.signal, agentId: group, withinMs: VECTOR_MS })
      : undefined;
    const now = store.now();
    const asked = { tenant: principal.tenant, group, owners: ownersFor(principal), text: query, limit, now, vector };
    const { hits } = found ? await found.search(asked) : { hits: [] };
    const scores = new Map(hits.map(({ id, score }) => [id, score]));
    const there = await readFound(entries, principal, { ids: [...scores.keys()], now });
    return { results: there.map((entry) => toEntry(principal.tenant, entry, scores.get(entry.id))) };
  };
}
