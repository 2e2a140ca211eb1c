import type { Handler } from '@switchyard/bus';
import { deleteEntry } from '../entries/delete-entries.ts';
import { unlink } from '../review/observation.ts';
import type { HandlerDeps } from './handler-deps.ts';

const PAGE = 200;

/**
 * Deletes the memories of a session page by page; after a failure the call can be repeated. Observations are updated first, because
 * deleted memories no longer name their session.
 */
export function memoryForgetSession(deps: HandlerDeps): Handler<'memory.forgetSession'> {
  const { entries, store, index } = deps;
  return async ({ sessionKey, purgeDerived }, { principal, signal }) => {
    const { tenant } = principal;
    const documents = entries.for(principal);
    const now = store.now();
    let deletedCount = await unlinkSession(deps, tenant, { sessionKey, purgeDerived, signal });
    for (let more = true; more;) {
      signal.throwIfAborted();
      const { items, cursor } = await documents.find({ sessionKey, deletedAt: null }, { limit: PAGE });
      const deleted = (await Promise.all(items.map(({ id, changedAt }) => deleteEntry(documents, { id, now, changedAt })))).filter(
        (entry) => entry !== null,
      );
      await index.note(tenant, deleted);
      deletedCount += deleted.length;
      more = cursor !== undefined;
    }
    return { forgotten: deletedCount };
  };
}

interface UnlinkSessionOptions {
  sessionKey: string;
  purgeDerived: boolean;
  signal: AbortSignal;
}

/** Removes the session from observations and returns how many were deleted. */
async function unlinkSession(
  deps: HandlerDeps,
  tenant: string,
  { sessionKey, purgeDerived, signal }: UnlinkSessionOptions,
): Promise<number> {
  const documents = deps.entries.for({ tenant });
  let deletedCount = 0;
  for (let more = true; more;) {
    signal.throwIfAborted();
    // An updated observation no longer names the session, so the query makes progress.
    const { items, cursor } = await documents.find(
      { derivedAt: { gt: 0 }, sourceSessions: { has: sessionKey }, deletedAt: null },
      { limit: PAGE },
    );
    for (const observation of items) {
      const deleted = await unlink(deps, tenant, {
        observation,
        isRemoved: (source) => source.sessionKey === sessionKey,
        purge: purgeDerived,
      });
      if (deleted) deletedCount += 1;
    }
    more = cursor !== undefined;
  }
  return deletedCount;
}
