import type { Handler } from '@switchyard/bus';
import { toEntry } from '../documents/entry.ts';
import { readVisible } from '../entries/read-entries.ts';
import { resolveAgent, getVisibleOwners } from '../entries/memory-scope.ts';
import { embedQueryVector } from './query-vectors.ts';
import type { HandlerDeps } from './handler-deps.ts';

/** After this time a search continues without the vector of its query. */
const VECTOR_TIMEOUT_MS = 2_000;

export function memorySearch(deps: HandlerDeps): Handler<'memory.search'> {
  const { entries, store, index, settings } = deps;
  return async ({ query, limit, agent_id }, ctx) => {
    const { principal } = ctx;
    const group = resolveAgent(principal, agent_id, settings.current.routing);
    const searchIndex = await index.get(ctx.signal);
    const vector = searchIndex
      ? await embedQueryVector(deps, query, { principal: ctx.principal, signal: ctx.signal, agentId: group, timeoutMs: VECTOR_TIMEOUT_MS })
      : undefined;
    const now = store.now();
    const search = { tenant: principal.tenant, group, owners: getVisibleOwners(principal), text: query, partial: true, limit, now, vector };
    const { hits } = searchIndex ? await searchIndex.search(search) : { hits: [] };
    const scores = new Map(hits.map(({ id, score }) => [id, score]));
    const matches = await readVisible(entries, principal, { ids: [...scores.keys()], now });
    return { results: matches.map((entry) => toEntry(principal.tenant, entry, scores.get(entry.id))) };
  };
}
