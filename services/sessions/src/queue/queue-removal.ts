import type { Documents } from '@switchyard/store';
import type { SessionDocument } from '../model/session-document.ts';
import { parseEntry, waitingFields } from '../model/queue-entry.ts';
import { sameOrderGuard, type LeaseHolder } from './session-queue.ts';

/**
 * Removes a finished turn from the queue before a lease holder reaches it, so that it delays no other turn. The head of a queue under
 * lease is left to the lease holder. Without this write the entry is removed when its turn comes. Returns the session if another turn is
 * now the waiting head, otherwise null.
 */
export async function removeEnded(
  sessions: Documents<SessionDocument>,
  tenant: string,
  { key, entry }: { key: string; entry: string },
): Promise<SessionDocument | null> {
  for (;;) {
    const session = await sessions.get(key);
    const at = session?.queue.indexOf(entry) ?? -1;
    if (!session || at === -1 || (at === 0 && session.leaseUntil > 0)) return null;
    const written = at === 0 ? await pullFirst(sessions, tenant, session) : await pull(sessions, session, entry);
    if (written) return at === 0 && written.depth > 0 ? written : null;
  }
}

/**
 * Removes a merged turn behind the queue head. Called by the lease holder. Without this write the entry is removed when its turn comes.
 * Returns null if the queue does not contain the entry or the lease was lost.
 */
export function removeMerged(
  sessions: Documents<SessionDocument>,
  { key, fence }: LeaseHolder,
  entry: string,
): Promise<SessionDocument | null> {
  return sessions.update({ key, fence, queue: { has: entry } }, { pull: { queue: entry }, inc: { depth: -1, removedCount: 1 } });
}

/** Removes an entry behind others. If those have ended meanwhile, the lease holder finds the entry gone. */
function pull(sessions: Documents<SessionDocument>, session: SessionDocument, entry: string): Promise<SessionDocument | null> {
  const { key, fence, leaseUntil } = session;
  return sessions.update(
    { key, fence, leaseUntil: leaseUntil === 0 ? 0 : { gt: 0 }, queue: { has: entry }, ...sameOrderGuard(session) },
    { pull: { queue: entry }, inc: { depth: -1, removedCount: 1 } },
  );
}

/** Removes the head while no replica holds the lease. The session then waits for the agent of the next entry. */
function pullFirst(sessions: Documents<SessionDocument>, tenant: string, session: SessionDocument): Promise<SessionDocument | null> {
  const { key, fence, queue } = session;
  const [first = '', next] = queue;
  return sessions.update(
    { key, fence, leaseUntil: 0, depth: queue.length, ...sameOrderGuard(session) },
    {
      pull: { queue: first },
      inc: { depth: -1, removedCount: 1 },
      ...(next === undefined ? {} : { set: waitingFields(tenant, parseEntry(next)) }),
      unset: next === undefined ? ['waitsFor', 'runnableAt', 'lapsed'] : ['lapsed'],
    },
  );
}
