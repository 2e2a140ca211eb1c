import type { Handler } from '@switchyard/bus';
import { forget } from '../entries/delete-entries.ts';
import { unlink } from '../review/observation.ts';
import type { Given } from './handler-deps.ts';

const PAGE = 200;

/**
 * Deletes the memories of a session page by page; after a failure the call can be repeated. Observations are updated first, because
 * deleted memories no longer name their session.
 */
export function memoryForgetSession(given: Given): Handler<'memory.forgetSession'> {
  const { entries, store, index } = given;
  return async ({ sessionKey, purgeDerived }, { principal, signal }) => {
    const { tenant } = principal;
    const mine = entries.for(principal);
    const now = store.now();
    let forgotten = await unlinkAll(given, tenant, { sessionKey, purgeDerived, signal });
    for (let more = true; more;) {
      signal.throwIfAborted();
      const { items, cursor } = await mine.find({ sessionKey, goneAt: null }, { limit: PAGE });
      const gone = (await Promise.all(items.map(({ id }) => forget(mine, { id, now })))).filter((entry) => entry !== null);
      await index.note(tenant, gone);
      forgotten += gone.length;
      more = cursor !== undefined;
    }
    return { forgotten };
  };
}

interface Asked {
  sessionKey: string;
  purgeDerived: boolean;
  signal: AbortSignal;
}

/** Removes the session from observations and returns how many were deleted. */
async function unlinkAll(given: Given, tenant: string, { sessionKey, purgeDerived, signal }: Asked): Promise<number> {
  const mine = given.entries.for({ tenant });
  let forgotten = 0;
  for (let more = true; more;) {
    signal.throwIfAborted();
    // An updated observation no longer names the session, so the query makes progress.
    const { items, cursor } = await mine.find({ derivedAt: { gt: 0 }, sourceSessions: { has: sessionKey }, goneAt: null }, { limit: PAGE });
    for (const observation of items) {
      const gone = await unlink(given, tenant, { observation, without: (source) => source.sessionKey === sessionKey, purge: purgeDerived });
      if (gone) forgotten += 1;
    }
    more = cursor !== undefined;
  }
  return forgotten;
}
