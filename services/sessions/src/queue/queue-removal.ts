import type { Documents } from '@switchyard/store';
import type { SessionDocument } from '../model/session-document.ts';
import { readEntry, waiting } from '../model/queue-entry.ts';
import { sameOrder, type Holder } from './session-queue.ts';

/**
 * Takes a turn that has ended out of its session's queue before it comes to be worked on, so that it keeps nobody waiting and counts
 * for nothing. The first of a queue that somebody works on is left to whoever does. Without this write it would leave the queue when
 * its time comes. Resolves with the session where another turn is the first now and waits, else with null.
 */
export async function withdraw(
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
 * Takes a turn that has ended out of the queue behind the one that it ended with, by whoever works there. Without this write it would
 * leave when its time comes, and keep others waiting until then. Null when the queue does not hold it, or somebody else has the lease.
 */
export function leave(sessions: Documents<SessionDocument>, { key, fence }: Holder, entry: string): Promise<SessionDocument | null> {
  return sessions.update({ key, fence, queue: { has: entry } }, { pull: { queue: entry }, inc: { depth: -1, withdrawn: 1 } });
}

/** From behind others. Should these have ended meanwhile, whoever works there finds that it is gone. */
function pull(sessions: Documents<SessionDocument>, session: SessionDocument, entry: string): Promise<SessionDocument | null> {
  const { key, fence, leaseUntil } = session;
  return sessions.update(
    { key, fence, leaseUntil: leaseUntil === 0 ? 0 : { gt: 0 }, queue: { has: entry }, ...sameOrder(session) },
    { pull: { queue: entry }, inc: { depth: -1, withdrawn: 1 } },
  );
}

/** While nobody is at work: then the session waits for the agent of who comes next. */
function pullFirst(sessions: Documents<SessionDocument>, tenant: string, session: SessionDocument): Promise<SessionDocument | null> {
  const { key, fence, queue } = session;
  const [first = '', next] = queue;
  return sessions.update(
    { key, fence, leaseUntil: 0, depth: queue.length, ...sameOrder(session) },
    {
      pull: { queue: first },
      inc: { depth: -1, withdrawn: 1 },
      ...(next === undefined ? {} : { set: waiting(tenant, readEntry(next)) }),
      unset: next === undefined ? ['waitsFor', 'runnableAt', 'lapsed'] : ['lapsed'],
    },
  );
}
