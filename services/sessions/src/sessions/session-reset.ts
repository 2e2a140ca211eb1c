import { ServiceError, type Principal } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import type { Clock } from '@switchyard/service-kit';
import type { Collection, OutboxEvent, Store } from '@switchyard/store';
import type { EndedEpochDocument, SessionDocument } from '../model/session-document.ts';
import type { SummaryDocument } from '../model/summary-document.ts';
import type { TurnDocument } from '../model/turn-document.ts';
import { expireTexts, hasBodies } from '../model/stored-text.ts';
import type { BodyDocument } from '../model/text-document.ts';
import { DAY_MS } from '../model/retention.ts';
import { countSessionBytes } from '../storage/stored-bytes.ts';
import type { StorageQuota } from '../storage/storage-quota.ts';
import { requireSession } from './session-directory.ts';
import { sessionNotFound, visibilityFilter, canSee } from '../model/session-ownership.ts';
import { waitUntilSettled } from './session-settling.ts';

const PAGE = 200;

export interface SessionResetDeps {
  sessions: Collection<SessionDocument>;
  turns: Collection<TurnDocument>;
  bodies: Collection<BodyDocument>;
  summaries: Collection<SummaryDocument>;
  gone: Collection<EndedEpochDocument>;
  store: Pick<Store, 'now'>;
  clock: Clock;
  storage?: Pick<StorageQuota, 'add'>;
  /** Called when the epoch of a session has ended. */
  onEnded?: (tenant: string, sessionKey: string) => Promise<void>;
}

/** Writes the change of the session itself. `done` tells whether the guard held. */
export type ResetWork<T> = (session: SessionDocument, idle: IdleGuard) => Promise<{ done: boolean; result: T }>;
type IdleGuard = ReturnType<typeof idleGuard> & ReturnType<typeof visibilityFilter>;

export type ResetSession = <T>(principal: Principal, key: string, work: ResetWork<T>) => Promise<T>;

/**
 * Ends the epoch of an idle session. The write is guarded by an empty queue, a free lease and an unchanged `lastSeq`, so no turn starts or
 * ends in a partially reset session. A session with running or waiting turns is rejected; finished turns are counted first. Turns of the
 * old epoch leave the history with that write and can be read by id for another day.
 */
export function createSessionReset(deps: SessionResetDeps): ResetSession {
  const { sessions, gone, store } = deps;
  return async (principal, named, work) => {
    const session = await waitUntilSettled(deps, principal.tenant, await requireSession(sessions, principal, named));
    if (!session || !canSee(principal, session)) throw sessionNotFound();
    if (session.depth > 0) throw sessionBusy();
    const note = { epoch: session.epoch, sessionKey: session.key, at: store.now() };
    // After a crash this record leads a sweep to the turns of the old epoch.
    await gone.for(principal).replace(note);
    const { done, result } = await work(session, { ...idleGuard(session, store.now()), ...visibilityFilter(principal) });
    if (!done) throw new ServiceError('ABORTED', 'A turn of this session has started. Retry when it has ended.');
    freeStorage(deps, principal.tenant, session);
    await deps.onEnded?.(principal.tenant, session.key);
    await clearEndedEpoch({ ...deps, forgetAt: store.now() + DAY_MS }, principal.tenant, note);
    return result;
  };
}

/** Subtracts the transcript of a session whose epoch has ended. */
export function freeStorage({ storage }: Pick<SessionResetDeps, 'storage'>, tenant: string, session: SessionDocument): void {
  storage?.add({ tenant, client: session.createdBy }, -countSessionBytes(session));
}

/** Guard for a session that is idle and unchanged since it was read. */
export function idleGuard({ key, epoch, lastSeq }: SessionDocument, now: number) {
  return { key, epoch, lastSeq, depth: 0, leaseUntil: { lte: now } };
}

/** Returns whether the reset failed because of running, waiting or newly started turns. */
export function isSessionBusy(error: unknown): boolean {
  return error instanceof ServiceError && (error.details.reason === 'SESSION_BUSY' || error.code === 'ABORTED');
}

function sessionBusy(): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', 'This session has a running or waiting turn. Retry when it has ended.', {
    details: { reason: 'SESSION_BUSY', retryable: true },
  });
}

/** Fields that start a new epoch. */
export function newEpochChange(now: number, emit: readonly OutboxEvent[]) {
  const set = { epoch: mintId('epoch'), messageCount: 0, chars: 0, extraChars: 0, epochStartedAt: now, updatedAt: now };
  return { set, unset: ['roots', 'compactUntil', 'compactSeq'] as ('roots' | 'compactUntil' | 'compactSeq')[], emit };
}

/** Expires the turns of an ended epoch. Removes only the record if the epoch has not ended. */
export async function clearEndedEpoch(
  deps: SessionResetDeps & { forgetAt: number },
  tenant: string,
  { epoch, sessionKey }: EndedEpochDocument,
): Promise<void> {
  const { sessions, gone } = deps;
  const session = await sessions.for({ tenant }).get(sessionKey);
  if (session?.epoch !== epoch) await expireTurns(deps, tenant, { sessionKey, epoch });
  await gone.for({ tenant }).remove({ epoch });
}

async function expireTurns(
  { turns, bodies, summaries, forgetAt }: SessionResetDeps & { forgetAt: number },
  tenant: string,
  over: Pick<EndedEpochDocument, 'sessionKey' | 'epoch'>,
): Promise<void> {
  while (await summaries.for({ tenant }).update({ epoch: over.epoch, forgetAt: null }, { set: { forgetAt } }));
  const mine = turns.for({ tenant });
  let cursor: string | undefined;
  do {
    const page = await mine.find(over, { sort: [['seq', 'asc']], limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    await Promise.all(
      page.items.map(async (turn) => {
        const { turnId } = turn;
        if (hasBodies(turn)) await expireTexts(bodies, tenant, turnId, forgetAt);
        await mine.update({ turnId, forgetAt: null }, { set: { forgetAt } });
      }),
    );
    cursor = page.cursor;
  } while (cursor !== undefined);
}
