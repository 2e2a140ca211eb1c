import type { Collection, Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { SessionDocument } from '../../model/session-document.ts';
import { type TurnDocument, hasEnded } from '../../model/turn-document.ts';
import { parseEntry } from '../../model/queue-entry.ts';
import type { Overflow, QueuedTurnRef } from '../../queue/queue-policy.ts';
import { turnDropped } from '../store/turn-errors.ts';
import { toFailure } from '../store/turn-failure.ts';
import { FINAL_FRAME } from '../../frames/frame-publisher.ts';
import { collectDroppedLines } from '../../queue/dropped-messages.ts';
import { logFailedTurn } from '../store/turn-failure-log.ts';
import { notifyEnd, type EndNotificationDeps } from './end-notification.ts';
import { recordEnd } from '../store/turn-metrics.ts';
import { commitDropped } from '../store/turn-store.ts';

export interface OverflowDeps extends EndNotificationDeps {
  turns: Collection<TurnDocument>;
  store: Pick<Store, 'now'>;
  log: Logger;
  getOverflow: (turn: QueuedTurnRef) => Overflow;
}

/**
 * Frees a place in a full queue if the policy allows it: ends the oldest waiting turn and removes it. Returns the new turn, which may have
 * recorded the dropped message; undefined when the new turn is rejected.
 */
export async function makeRoom(deps: OverflowDeps, tenant: string, newcomer: TurnDocument): Promise<TurnDocument | undefined> {
  const { policy, maxDepth } = deps.getOverflow(newcomer);
  if (policy === 'drop-new') return undefined;
  const session = await deps.sessions.for({ tenant }).get(newcomer.sessionKey);
  if (!session || session.depth <= maxDepth) return newcomer;
  for (const turnId of await listDroppable(deps, tenant, session)) {
    const other = await deps.turns.for({ tenant }).get(turnId);
    // A replica may have died after ending this turn. A turn that is done is left to the lease holder, who counts it.
    if (other?.state === 'cancelled') return finishDrop(deps, tenant, { turn: newcomer, other });
    if (!other || hasEnded(other)) continue;
    const turn = policy === 'summarize' ? await recordDropped(deps, tenant, { turn: newcomer, other }) : newcomer;
    // Another replica has started or removed the new turn meanwhile.
    if (!turn) return undefined;
    const ended = await endDropped(deps, tenant, { turn: other, policy });
    if (ended) return finishDrop(deps, tenant, { turn, other: ended });
  }
  return undefined;
}

/** Lists the waiting turns, oldest first. Excludes the running turn and those that it has merged. */
async function listDroppable({ turns }: OverflowDeps, tenant: string, { queue, leaseUntil }: SessionDocument): Promise<string[]> {
  const ids = queue.map((entry) => parseEntry(entry).turnId);
  const { merged = [] } = (await turns.for({ tenant }).get(ids[0] ?? '')) ?? {};
  const mergedMessages = new Set(merged.map(({ turnId }) => turnId));
  return ids.filter((turnId, at) => (at > 0 || leaseUntil === 0) && !mergedMessages.has(turnId));
}

interface DropOptions {
  turn: TurnDocument;
  other: TurnDocument;
}

async function finishDrop(deps: OverflowDeps, tenant: string, { turn, other }: DropOptions): Promise<TurnDocument> {
  await notifyEnd(deps, tenant, other);
  return turn;
}

/** Records the message before the turn ends, so that it is not lost if this process dies in between. */
async function recordDropped({ turns, bodies }: OverflowDeps, tenant: string, { turn, other }: DropOptions): Promise<TurnDocument | null> {
  const lines = await collectDroppedLines(bodies.for({ tenant }), other);
  return turns.for({ tenant }).update({ turnId: turn.turnId, state: 'queued', fence: 0 }, { push: { dropped: lines } });
}

/** Returns null if a runner has started the turn meanwhile. */
async function endDropped(
  deps: OverflowDeps,
  tenant: string,
  { turn, policy }: { turn: TurnDocument; policy: Parameters<typeof turnDropped>[0] },
): Promise<TurnDocument | null> {
  const error = turnDropped(policy);
  const failure = toFailure(error, turn);
  const now = deps.store.now();
  const ended = await commitDropped(deps.turns.for({ tenant }), { turn, failure, lastFrame: FINAL_FRAME, now });
  if (!ended) return null;
  recordEnd('durable', failure, now - turn.createdAt);
  logFailedTurn(deps.log, tenant, { turn: ended, error });
  return ended;
}
