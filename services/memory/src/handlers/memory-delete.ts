import { ServiceError } from '@switchyard/contracts';
import type { Handler } from '@switchyard/bus';
import { deleteEntry } from '../entries/delete-entries.ts';
import { isVisible } from '../entries/memory-scope.ts';
import type { EntryDocument } from '../documents/collections.ts';
import { deleteSources, unlink } from '../review/observation.ts';
import type { HandlerDeps } from './handler-deps.ts';

/** After the answer no replica returns the entry. */
export function memoryDelete(deps: HandlerDeps): Handler<'memory.delete'> {
  const { entries, store, index } = deps;
  return async ({ id }, { principal, log }) => {
    const documents = entries.for(principal);
    const entry = await documents.get(id);
    const now = store.now();
    // A token limited to its own sessions can find shared memories but not delete them.
    const mayDelete = entry && isVisible(entry, principal, now) && (principal.sessions !== 'own' || entry.owner === principal.client);
    if (mayDelete) await updateDerived(deps, principal.tenant, entry);
    const deleted = mayDelete ? await deleteEntry(documents, { id, now, changedAt: entry.changedAt }) : null;
    if (!deleted) throw new ServiceError('NOT_FOUND', 'The memory does not exist.');
    log.audit({ client: principal.client, tenant: principal.tenant, memoryId: id }, 'a memory was deleted');
    await index.note(principal.tenant, [deleted]);
    return { id, deleted: true };
  };
}

/** Removes the entry from its observation. If it is an observation, deletes its sources. */
async function updateDerived(deps: HandlerDeps, tenant: string, entry: EntryDocument): Promise<void> {
  if (entry.derivedAt !== undefined) await deleteSources(deps, tenant, entry);
  const observation = entry.mergedInto === undefined ? null : await deps.entries.for({ tenant }).get(entry.mergedInto);
  if (observation && observation.deletedAt === undefined)
    await unlink(deps, tenant, { observation, isRemoved: ({ id }) => id === entry.id });
}
