import type { Handler } from '@switchyard/bus';
import { toEntry } from '../documents/entry.ts';
import { isVisible } from '../entries/memory-scope.ts';
import { readStats } from './read-stats.ts';
import type { HandlerDeps } from './handler-deps.ts';

/** Memories of other tenants and clients are returned as unknown. */
export function memoryInspect(deps: HandlerDeps): Handler<'memory.inspect'> {
  const { entries, store } = deps;
  return async ({ id, tenantId }, ctx) => {
    const { principal } = ctx;
    if (tenantId !== undefined && tenantId !== principal.tenant) return {};
    if (id === undefined) return { stats: await readStats(deps, ctx) };
    const entry = await entries.for(principal).get(id);
    return entry && isVisible(entry, principal, store.now()) ? { entry: toEntry(principal.tenant, entry) } : {};
  };
}
