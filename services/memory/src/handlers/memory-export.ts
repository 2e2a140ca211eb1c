import { MAX, ServiceError, type MemoryEntry } from '@switchyard/contracts';
import type { Handler } from '@switchyard/bus';
import { toEntry } from '../documents/entry.ts';
import { iterateEntries } from '../entries/read-entries.ts';
import { isVisible } from '../entries/memory-scope.ts';
import type { HandlerDeps } from './handler-deps.ts';

/** Exports all visible memories, oldest first. Concurrent writes may or may not be included. */
export function memoryExport({ entries, store }: HandlerDeps): Handler<'memory.export'> {
  return async (_params, { principal, signal }) => {
    const now = store.now();
    const matches: MemoryEntry[] = [];
    for await (const page of iterateEntries(entries.for(principal))) {
      signal.throwIfAborted();
      for (const entry of page) if (isVisible(entry, principal, now)) matches.push(toEntry(principal.tenant, entry));
      if (matches.length > MAX.all) {
        throw new ServiceError(
          'FAILED_PRECONDITION',
          `There are more than ${MAX.all} memories, the limit of one answer. Use memory.browse instead.`,
        );
      }
    }
    matches.sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
    return { entries: matches, exportedAt: now, totalEntries: matches.length };
  };
}
