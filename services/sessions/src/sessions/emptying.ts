import { ServiceError, type Principal } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import type { Collection, Store } from '@switchyard/store';
import type { SessionDocument, TurnDocument } from '../data.ts';
import { requireSession } from './directory.ts';
import { freeLane } from './lane.ts';
import { seenBy } from './ownership.ts';

export interface EmptyingDeps {
  sessions: Collection<SessionDocument>;
  turns: Collection<TurnDocument>;
  store: Pick<Store, 'now'>;
  /** Starts what came to wait in the session meanwhile. */
  dispatch: (sessionKey: string, tenant: string) => Promise<unknown>;
}

export type Emptying = <T>(principal: Principal, key: string, work: (session: SessionDocument, holder: string) => Promise<T>) => Promise<T>;

/**
 * Works on an idle session while holding its lane: no turn begins on what is half gone, and none ends into it. A session with
 * turns is refused. If the process dies, the sweeper frees the lane.
 */
export function createEmptying({ sessions, turns, store, dispatch }: EmptyingDeps): Emptying {
  return async (principal, named, work) => {
    const { key, activeTurn } = await requireSession(sessions, principal, named);
    const unfinished =
      activeTurn === null ? await turns.for(principal).count({ sessionKey: key, state: { in: ['queued', 'running'] } }) : 1;
    if (unfinished > 0) {
      throw new ServiceError('FAILED_PRECONDITION', 'A turn of this session is running or waits; try again when it has ended.', {
        details: { reason: 'SESSION_BUSY', retryable: true },
      });
    }
    const mine = sessions.for(principal);
    const holder = mintId('hold');
    const session = await mine.update(
      { key, activeTurn: null, ...seenBy(principal) },
      { set: { activeTurn: holder, activeSince: store.now() } },
    );
    if (!session) throw new ServiceError('ABORTED', 'A turn of this session began meanwhile; try again when it has ended.');
    try {
      return await work(session, holder);
    } finally {
      await freeLane(mine, key, holder);
      void dispatch(key, principal.tenant);
    }
  };
}

/** It took so long that the lane was taken for abandoned. */
export function lostHold(): ServiceError {
  return new ServiceError('ABORTED', 'The session could not be emptied in time; try again.');
}
