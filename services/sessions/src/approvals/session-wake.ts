import type { Collection, Store } from '@switchyard/store';
import { parseEntry } from '../model/queue-entry.ts';
import type { SessionDocument } from '../model/session-document.ts';
import { hasEnded, type TurnDocument } from '../model/turn-document.ts';
import { wakeHead } from '../queue/session-queue.ts';
import type { ApprovalDocument } from './approval-document.ts';

export interface SessionWakeDeps {
  sessions: Collection<SessionDocument>;
  turns: Collection<TurnDocument>;
  store: Pick<Store, 'now'>;
  /** Called when a queue head can run. */
  onRunnable: (tenant: string, entry: string) => void;
}

/**
 * Makes the turn that waits for a decided request runnable. Returns false while a replica holds the session or after a concurrent change;
 * the caller repeats it. A turn that is not parked reads the verdict itself.
 */
export function createSessionWake({ sessions, turns, store, onRunnable }: SessionWakeDeps) {
  return async (tenant: string, { requestId, sessionKey }: ApprovalDocument): Promise<boolean> => {
    const session = await sessions.for({ tenant }).get(sessionKey);
    const head = session?.queue[0];
    if (!session || head === undefined) return true;
    const turn = await turns.for({ tenant }).get(parseEntry(head).turnId);
    if (!turn || hasEnded(turn) || turn.parked?.requestId !== requestId) return true;
    if (session.leaseUntil > 0 || !(await wakeHead(sessions.for({ tenant }), session, store.now()))) return false;
    onRunnable(tenant, head);
    return true;
  };
}
