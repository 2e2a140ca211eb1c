import type { Handler } from '@switchyard/bus';
import { toEntry } from '../documents/entry.ts';
import { readVisible } from '../entries/read-entries.ts';
import { resolveAgent, getVisibleOwners } from '../entries/memory-scope.ts';
import type { HandlerDeps } from './handler-deps.ts';

/** Longer texts are truncated in the list. */
const MAX_CHARS = 500;

export function memoryBrowse({ entries, store, index, settings }: HandlerDeps): Handler<'memory.browse'> {
  return async ({ offset, limit, sort, memory_type, trust_level, tags, agent_id }, ctx) => {
    const { principal } = ctx;
    const group = principal.agent === undefined ? agent_id : resolveAgent(principal, agent_id, settings.current.routing);
    const now = store.now();
    const scope = { tenant: principal.tenant, group, owners: getVisibleOwners(principal), trust: trust_level && [trust_level], now };
    const searchIndex = await index.get(ctx.signal);
    const query = { ...scope, kinds: memory_type && [memory_type], tags, oldestFirst: sort === 'oldest', offset, limit };
    const { ids, total } = searchIndex ? await searchIndex.list(query) : { ids: [], total: 0 };
    const matches = await readVisible(entries, principal, { ids, now });
    const listed = matches.map((entry) => toEntry(principal.tenant, { ...entry, content: truncate(entry.content) }));
    return { entries: listed, total, offset, limit, hasMore: offset + ids.length < total };
  };
}

function truncate(text: string): string {
  return text.slice(0, MAX_CHARS).toWellFormed();
}
