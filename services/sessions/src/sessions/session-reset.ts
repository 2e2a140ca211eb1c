import { ServiceError, type Principal } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import type { Clock } from '@switchyard/service-kit';
import type { Collection, OutboxEvent, Store } from '@switchyard/store';
import type { GoneDocument, SessionDocument } from '../model/session-document.ts';
import type { SummaryDocument } from '../model/summary-document.ts';
import type { TurnDocument } from '../model/turn-document.ts';
import { forget, hasBodies } from '../model/stored-text.ts';
import type { BodyDocument } from '../model/text-document.ts';
import { DAY_MS } from '../model/retention.ts';
import { requireSession } from './session-directory.ts';
import { noSuchSession, seenBy, sees } from '../model/session-ownership.ts';
import { settled } from './session-settling.ts';

const PAGE = 200;

export interface EmptyingDeps {
  sessions: Collection<SessionDocument>;
  turns: Collection<TurnDocument>;
  bodies: Collection<BodyDocument>;
  summaries: Collection<SummaryDocument>;
  gone: Collection<GoneDocument>;
  store: Pick<Store, 'now'>;
  clock: Clock;
}

/** Writes the change of the session itself. `done` tells whether the guard held. */
export type Work<T> = (session: SessionDocument, idle: IdleGuard) => Promise<{ done: boolean; result: T }>;
type IdleGuard = ReturnType<typeof idleAs> & ReturnType<typeof seenBy>;

export type Emptying = <T>(principal: Principal, key: string, work: Work<T>) => Promise<T>;

/**
 * Ends the epoch of an idle session. The write is guarded by an empty queue, a free lease and an unchanged `lastSeq`, so no turn starts or
 * ends in a partially reset session. A session with running or waiting turns is rejected; finished turns are counted first. Turns of the
 * old epoch leave the history with that write and can be read by id for another day.
 */
export function createEmptying(deps: EmptyingDeps): Emptying {
  const { sessions, gone, store } = deps;
  return async (principal, named, work) => {
    const session = await settled(deps, principal.tenant, await requireSession(sessions, principal, named));
    if (!session || !sees(principal, session)) throw noSuchSession();
    if (session.depth > 0) throw busy();
    const note = { epoch: session.epoch, sessionKey: session.key, at: store.now() };
    // After a crash this record leads a sweep to the turns of the old epoch.
    await gone.for(principal).replace(note);
    const { done, result } = await work(session, { ...idleAs(session, store.now()), ...seenBy(principal) });
    if (!done) throw new ServiceError('ABORTED', 'A turn of this session began meanwhile; try again when it has ended.');
    await clearGone({ ...deps, forgetAt: store.now() + DAY_MS }, principal.tenant, note);
    return result;
  };
}

/** Guard for a session that is idle and unchanged since it was read. */
export function idleAs({ key, epoch, lastSeq }: SessionDocument, now: number) {
  return { key, epoch, lastSeq, depth: 0, leaseUntil: { lte: now } };
}

/** Returns whether the reset failed because of running, waiting or newly started turns. */
export function isBusy(error: unknown): boolean {
  return error instanceof ServiceError && (error.details.reason === 'SESSION_BUSY' || error.code === 'ABORTED');
}

function busy(): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', 'A turn of this session is running or waits; try again when it has ended.', {
    details: { reason: 'SESSION_BUSY', retryable: true },
  });
}

/** Fields that start a new epoch. */
export function emptied(now: number, emit: readonly OutboxEvent[]) {
  const set = { epoch: mintId('epoch'), messageCount: 0, chars: 0, since: now, updatedAt: now };
  return { set, unset: ['roots', 'compactUntil', 'compactSeq'] as ('roots' | 'compactUntil' | 'compactSeq')[], emit };
}

/** Expires the turns of an ended epoch. Removes only the record if the epoch has not ended. */
export async function clearGone(
  deps: EmptyingDeps & { forgetAt: number },
  tenant: string,
  { epoch, sessionKey }: GoneDocument,
): Promise<void> {
  const { sessions, gone } = deps;
  const session = await sessions.for({ tenant }).get(sessionKey);
  if (session?.epoch !== epoch) await forgetTurns(deps, tenant, { sessionKey, epoch });
  await gone.for({ tenant }).remove({ epoch });
}

async function forgetTurns(
  { turns, bodies, summaries, forgetAt }: EmptyingDeps & { forgetAt: number },
  tenant: string,
  over: Pick<GoneDocument, 'sessionKey' | 'epoch'>,
): Promise<void> {
  while (await summaries.for({ tenant }).update({ epoch: over.epoch, forgetAt: null }, { set: { forgetAt } }));
  const mine = turns.for({ tenant });
  let cursor: string | undefined;
  do {
    const page = await mine.find(over, { sort: [['seq', 'asc']], limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    await Promise.all(
      page.items.map(async (turn) => {
        const { turnId } = turn;
        if (hasBodies(turn)) await forget(bodies, tenant, turnId, forgetAt);
        await mine.update({ turnId, forgetAt: null }, { set: { forgetAt } });
      }),
    );
    cursor = page.cursor;
  } while (cursor !== undefined);
}
