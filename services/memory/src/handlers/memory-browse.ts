import type { Handler } from '@switchyard/bus';
import { toEntry } from '../documents/entry.ts';
import { readFound } from '../entries/read-entries.ts';
import { agentOf, ownersFor } from '../entries/memory-scope.ts';
import type { Given } from './handler-deps.ts';

/** Longer texts are truncated in the list. */
const MOST_CHARS = 500;

export function memoryBrowse({ entries, store, index, settings }: Given): Handler<'memory.browse'> {
  return async ({ offset, limit, sort, memory_type, trust_level, tags, agent_id }, ctx) => {
    const { principal } = ctx;
    const group = principal.agent === undefined ? agent_id : agentOf(principal, agent_id, settings.current.routing);
    const now = store.now();
    const scope = { tenant: principal.tenant, group, owners: ownersFor(principal), trust: trust_level && [trust_level], now };
    const there = await index.get(ctx.signal);
    const asked = { ...scope, kinds: memory_type && [memory_type], tags, oldestFirst: sort === 'oldest', offset, limit };
    const { ids, total } = there ? await there.list(asked) : { ids: [], total: 0 };
    const found = await readFound(entries, principal, { ids, now });
    const shown = found.map((entry) => toEntry(principal.tenant, { ...entry, content: beginning(entry.content) }));
    return { entries: shown, total, offset, limit, hasMore: offset + ids.length < total };
  };
}

function beginning(text: string): string {
  return text.slice(0, MOST_CHARS).toWellFormed();
}
