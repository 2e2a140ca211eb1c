import { ServiceError } from '@switchyard/contracts';
import type { Handler } from '@switchyard/bus';
import { forget } from '../entries/delete-entries.ts';
import { isVisible } from '../entries/memory-scope.ts';
import type { EntryDocument } from '../documents/collections.ts';
import { forgetSources, unlink } from '../review/observation.ts';
import type { Given } from './handler-deps.ts';

/** After the answer no replica returns the entry. */
export function memoryDelete(given: Given): Handler<'memory.delete'> {
  const { entries, store, index } = given;
  return async ({ id }, { principal, log }) => {
    const mine = entries.for(principal);
    const there = await mine.get(id);
    const now = store.now();
    // A token limited to its own sessions can find shared memories but not delete them.
    const may = there && isVisible(there, principal, now) && (principal.sessions !== 'own' || there.owner === principal.client);
    if (may) await forgetAround(given, principal.tenant, there);
    const gone = may ? await forget(mine, { id, now }) : null;
    if (!gone) throw new ServiceError('NOT_FOUND', 'The memory does not exist.');
    log.audit({ client: principal.client, tenant: principal.tenant, memoryId: id }, 'a memory was deleted');
    await index.note(principal.tenant, [gone]);
    return { id, deleted: true };
  };
}

/** Removes the entry from its observation. If it is an observation, deletes its sources. */
async function forgetAround(given: Given, tenant: string, entry: EntryDocument): Promise<void> {
  if (entry.derivedAt !== undefined) await forgetSources(given, tenant, entry);
  const observation = entry.mergedInto === undefined ? null : await given.entries.for({ tenant }).get(entry.mergedInto);
  if (observation && observation.goneAt === undefined) await unlink(given, tenant, { observation, without: ({ id }) => id === entry.id });
}
