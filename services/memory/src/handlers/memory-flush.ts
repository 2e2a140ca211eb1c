import { ServiceError } from '@switchyard/contracts';
import type { Handler } from '@switchyard/bus';
import { deleteEntry } from '../entries/delete-entries.ts';
import { iterateEntries } from '../entries/read-entries.ts';
import type { HandlerDeps } from './handler-deps.ts';

/** Deletes page by page. After a failure the call can be repeated. */
export function memoryFlush({ entries, store, index }: HandlerDeps): Handler<'memory.flush'> {
  return async (_params, { principal, signal, log }) => {
    const { client, tenant, sessions, agent } = principal;
    if (sessions === 'own' || agent !== undefined) {
      throw new ServiceError(
        'PERMISSION_DENIED',
        'memory.flush deletes the memories of the whole tenant. Tokens limited to their own sessions and agents cannot call it.',
      );
    }
    const documents = entries.for(principal);
    const now = store.now();
    let deletedCount = 0;
    for await (const page of iterateEntries(documents)) {
      signal.throwIfAborted();
      const deleted = (await Promise.all(page.map(({ id, changedAt }) => deleteEntry(documents, { id, now, changedAt })))).filter(
        (entry) => entry !== null,
      );
      await index.note(tenant, deleted);
      deletedCount += deleted.length;
    }
    log.audit({ client, tenant, deletedCount }, 'all memories of a tenant were deleted');
    return { flushed: true, deletedCount };
  };
}
