import type { Handler } from '@switchyard/bus';
import { toEntry } from '../entries/entry.ts';
import { readFound } from '../entries/read.ts';
import { agentOf, ownersFor } from '../entries/scope.ts';
import type { Given } from './given.ts';

export function memorySearch({ entries, store, index, settings }: Given): Handler<'memory.search'> {
  return async ({ query, limit, agent_id }, ctx) => {
    const { principal } = ctx;
    const group = agentOf(principal, agent_id, settings.current.routing);
    const found = await index.get(ctx.signal);
    const now = store.now();
    const vectors = settings.current.embedding.enabled;
    const asked = { tenant: principal.tenant, group, owners: ownersFor(principal), text: query, limit, now, vectors };
    const { hits } = found ? await found.search(asked) : { hits: [] };
    const scores = new Map(hits.map(({ id, score }) => [id, score]));
    const there = await readFound(entries, principal, { ids: [...scores.keys()], now });
    return { results: there.map((entry) => toEntry(principal.tenant, entry, scores.get(entry.id))) };
  };
}
