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

/** What becomes of the session itself; it tells whether the session was still idle and as it was looked at. */
export type Work<T> = (session: SessionDocument, idle: IdleGuard) => Promise<{ done: boolean; result: T }>;
type IdleGuard = ReturnType<typeof idleAs> & ReturnType<typeof seenBy>;

export type Emptying = <T>(principal: Principal, key: string, work: Work<T>) => Promise<T>;

/**
 * Ends the epoch of an idle session. The write that does so is guarded by the queue being empty, nobody at work, and nothing
 * counted since the session was looked at: no turn begins on what is half gone, and none ends into it. A session with turns is
 * refused; one whose turns have ended becomes idle first. The turns of an epoch that is over are nobody's history from that write on; who asks for one of them by its id is
 * answered for another day.
 */
export function createEmptying(deps: EmptyingDeps): Emptying {
  const { sessions, gone, store } = deps;
  return async (principal, named, work) => {
    const session = await settled(deps, principal.tenant, await requireSession(sessions, principal, named));
    if (!session || !sees(principal, session)) throw noSuchSession();
    if (session.depth > 0) throw busy();
    const note = { epoch: session.epoch, sessionKey: session.key, at: store.now() };
    // Whoever dies after the next write leaves turns that this note leads to.
    await gone.for(principal).replace(note);
    const { done, result } = await work(session, { ...idleAs(session, store.now()), ...seenBy(principal) });
    if (!done) throw new ServiceError('ABORTED', 'A turn of this session began meanwhile; try again when it has ended.');
    await clearGone({ ...deps, forgetAt: store.now() + DAY_MS }, principal.tenant, note);
    return result;
  };
}

/** What a write is guarded by that is to find a session idle and as it was looked at. */
export function idleAs({ key, epoch, lastSeq }: SessionDocument, now: number) {
  return { key, epoch, lastSeq, depth: 0, leaseUntil: { lte: now } };
}

/** The session has turns that run or wait; or one began meanwhile. */
export function isBusy(error: unknown): boolean {
  return error instanceof ServiceError && (error.details.reason === 'SESSION_BUSY' || error.code === 'ABORTED');
}

function busy(): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', 'A turn of this session is running or waits; try again when it has ended.', {
    details: { reason: 'SESSION_BUSY', retryable: true },
  });
}

/** What ends an epoch, and nothing else of the session. */
export function emptied(now: number, emit: readonly OutboxEvent[]) {
  const set = { epoch: mintId('epoch'), messageCount: 0, chars: 0, since: now, updatedAt: now };
  return { set, unset: ['roots', 'compactUntil', 'compactSeq'] as ('roots' | 'compactUntil' | 'compactSeq')[], emit };
}

/** The turns of an epoch that is over, unless it is not: then only the note goes. */
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
