import type { Collection, Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { SessionDocument } from '../../model/session-document.ts';
import { type TurnDocument, hasEnded } from '../../model/turn-document.ts';
import { readEntry } from '../../model/queue-entry.ts';
import type { Overflow, Queued } from '../../queue/queue-policy.ts';
import { leftOut } from '../store/turn-errors.ts';
import { toFailure } from '../store/turn-failure.ts';
import { FRAME_AFTER_ALL } from '../../frames/frame-publisher.ts';
import { linesOf } from '../../queue/dropped-messages.ts';
import { logFailedTurn } from '../store/turn-failure-log.ts';
import { makeKnown, type MakingKnown } from './end-notification.ts';
import { noteEnd } from '../store/turn-metrics.ts';
import { commitLeftOut } from '../store/turn-store.ts';

export interface OverflowDeps extends MakingKnown {
  turns: Collection<TurnDocument>;
  store: Pick<Store, 'now'>;
  log: Logger;
  overflowOf: (turn: Queued) => Overflow;
}

/**
 * Frees a place in a full queue if the policy allows it: ends the oldest waiting turn and removes it. Returns the new turn, which may have
 * recorded the dropped message; undefined when the new turn is rejected.
 */
export async function makeRoom(deps: OverflowDeps, tenant: string, newcomer: TurnDocument): Promise<TurnDocument | undefined> {
  const { policy, maxDepth } = deps.overflowOf(newcomer);
  if (policy === 'drop-new') return undefined;
  const session = await deps.sessions.for({ tenant }).get(newcomer.sessionKey);
  if (!session || session.depth <= maxDepth) return newcomer;
  for (const turnId of await mayBeLeftOut(deps, tenant, session)) {
    const other = await deps.turns.for({ tenant }).get(turnId);
    // A replica may have died after ending this turn. A turn that is done is left to the lease holder, who counts it.
    if (other?.state === 'cancelled') return leaves(deps, tenant, { turn: newcomer, other });
    if (!other || hasEnded(other)) continue;
    const turn = policy === 'summarize' ? await told(deps, tenant, { turn: newcomer, other }) : newcomer;
    // Another replica has started or removed the new turn meanwhile.
    if (!turn) return undefined;
    const ended = await end(deps, tenant, { turn: other, policy });
    if (ended) return leaves(deps, tenant, { turn, other: ended });
  }
  return undefined;
}

/** Lists the waiting turns, oldest first. Excludes the running turn and those that it has merged. */
async function mayBeLeftOut({ turns }: OverflowDeps, tenant: string, { queue, leaseUntil }: SessionDocument): Promise<string[]> {
  const ids = queue.map((entry) => readEntry(entry).turnId);
  const { joined = [] } = (await turns.for({ tenant }).get(ids[0] ?? '')) ?? {};
  const heard = new Set(joined.map(({ turnId }) => turnId));
  return ids.filter((turnId, at) => (at > 0 || leaseUntil === 0) && !heard.has(turnId));
}

interface LeavingOut {
  turn: TurnDocument;
  other: TurnDocument;
}

async function leaves(deps: OverflowDeps, tenant: string, { turn, other }: LeavingOut): Promise<TurnDocument> {
  await makeKnown(deps, tenant, other);
  return turn;
}

/** Records the message before the turn ends, so that it is not lost if this process dies in between. */
async function told({ turns, bodies }: OverflowDeps, tenant: string, { turn, other }: LeavingOut): Promise<TurnDocument | null> {
  const lines = await linesOf(bodies.for({ tenant }), other);
  return turns.for({ tenant }).update({ turnId: turn.turnId, state: 'queued', fence: 0 }, { push: { leftOut: lines } });
}

/** Returns null if a runner has started the turn meanwhile. */
async function end(
  deps: OverflowDeps,
  tenant: string,
  { turn, policy }: { turn: TurnDocument; policy: Parameters<typeof leftOut>[0] },
): Promise<TurnDocument | null> {
  const error = leftOut(policy);
  const failure = toFailure(error, turn);
  const now = deps.store.now();
  const ended = await commitLeftOut(deps.turns.for({ tenant }), { turnId: turn.turnId, failure, lastFrame: FRAME_AFTER_ALL, now });
  if (!ended) return null;
  noteEnd('durable', failure, now - turn.createdAt);
  logFailedTurn(deps.log, tenant, { turn: ended, error });
  return ended;
}
