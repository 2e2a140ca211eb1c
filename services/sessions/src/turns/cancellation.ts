import { ServiceError, type Input, type Principal, type Result } from '@switchyard/contracts';
import type { Collection, Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import { type TurnDocument, hasEnded } from '../model/turn-document.ts';
import { parseEntry } from '../model/queue-entry.ts';
import { canFollow, turnNotFound, canSee } from '../model/session-ownership.ts';
import { resolveSessionTarget, type SessionTargetDeps } from './acceptance/session-target.ts';
import { turnCancelled } from './store/turn-errors.ts';
import { toFailure } from './store/turn-failure.ts';
import { forbidContinuationOfLast, forbidContinuation } from './execution/auto-continue.ts';
import { FINAL_FRAME } from '../frames/frame-publisher.ts';
import { logFailedTurn } from './store/turn-failure-log.ts';
import { notifyEnd, type EndNotificationDeps } from './ending/end-notification.ts';
import { recordEnd } from './store/turn-metrics.ts';
import { commitCancel } from './store/turn-store.ts';
import { buildResumeState, loadCheckpoints } from '../model/checkpoint-log.ts';
import { getRunningUsage } from './execution/usage-meter.ts';

/*
 * A cancellation is a guarded write by the replica that receives the request. It needs neither the session lease nor the runner; the
 * messages sent afterwards only make it faster.
 *
 * | Moment of cancellation      | Situation                                      | Effect                                                    |
 * | --------------------------- | ---------------------------------------------- | --------------------------------------------------------- |
 * | before the turn exists      | no such turn                                   | NOT_FOUND; for a session nothing; nothing is recorded     |
 * | before it is enqueued       | a turn in no queue                             | it ends; if it is enqueued later, the next claim removes it |
 * | while it waits              | a queue entry without a lease holder           | it ends and is removed from the queue at once             |
 * | while it runs               | a runner on any replica                        | it ends; the runner is notified, stops and dequeues it    |
 * | runner not notified         | a runner that the bus does not reach           | its next write or poll finds out within seconds           |
 * | runner paused               | a lease that expires                           | it ends; all later writes of the runner miss              |
 * | repeated                    | a cancelled turn                               | remaining work is done; the reply is the same             |
 * | late                        | a turn that has ended otherwise                | the guard misses; the reply says how it ended             |
 * | during the commit           | one of the two writes is first                 | the guard of the other one misses                         |
 * | the cancelling replica dies | an end without notification, or a queue entry  | the runner or the next claim notifies and dequeues        |
 */

export interface CancelDeps extends EndNotificationDeps, SessionTargetDeps {
  turns: Collection<TurnDocument>;
  store: Pick<Store, 'now'>;
  log: Logger;
  /** Withdraws the request for approval that a cancelled turn waited for. */
  withdrawApproval?: ((tenant: string, requestId: string) => Promise<void>) | undefined;
}

/** Cancels turns of the caller. Throws NOT_FOUND for a missing turn and for a turn of another client. */
export async function cancelTurns(deps: CancelDeps, request: Input<'agent.cancel'>, principal: Principal): Promise<Result<'agent.cancel'>> {
  return request.turnId === undefined
    ? cancelSession(deps, request, principal)
    : cancelOne(deps, { ...request, turnId: request.turnId }, principal);
}

async function cancelOne(
  deps: CancelDeps,
  { turnId, agentId, sessionKey }: Input<'agent.cancel'> & { turnId: string },
  principal: Principal,
): Promise<Result<'agent.cancel'>> {
  const turn = await deps.turns.for(principal).get(turnId);
  if (!turn || !(await canFollow(deps.sessions, principal, turn))) throw turnNotFound();
  const elsewhere =
    sessionKey !== undefined && resolveSessionTarget(deps, { agentId, session: sessionKey }, principal).key !== turn.sessionKey;
  if (elsewhere || (agentId !== undefined && agentId !== turn.agentId)) throw turnNotFound();
  return buildResult(turn.sessionKey, [await endCancelled(deps, principal.tenant, turn)]);
}

/** Cancels the last turn first, so that the end of one turn does not start the next one. */
async function cancelSession(
  deps: CancelDeps,
  { agentId, sessionKey }: Input<'agent.cancel'>,
  principal: Principal,
): Promise<Result<'agent.cancel'>> {
  const { key } = resolveSessionTarget(deps, { agentId, session: sessionKey }, principal);
  const sessions = deps.sessions.for(principal);
  const seen = await sessions.get(key);
  // Continuations enqueued later detect this; those enqueued before are read next.
  if (seen && canSee(principal, seen)) await forbidContinuationOfLast(deps.turns.for(principal), seen, principal.client);
  const session = seen && (await sessions.get(key));
  const ended: TurnDocument[] = [];
  for (const entry of session && canSee(principal, session) ? session.queue.toReversed() : []) {
    const turn = await deps.turns.for(principal).get(parseEntry(entry).turnId);
    if (turn?.client === principal.client) ended.unshift(await endCancelled(deps, principal.tenant, turn));
  }
  return buildResult(key, ended);
}

function buildResult(sessionKey: string, ended: readonly TurnDocument[]): Result<'agent.cancel'> {
  const turns = ended.map(({ turnId, state }) => ({ turnId, state }));
  return { cancelled: turns.some(({ state }) => state === 'cancelled'), sessionKey, turns };
}

/** Returns the turn as it has ended, by this or an earlier write. */
async function endCancelled(deps: CancelDeps, tenant: string, turn: TurnDocument): Promise<TurnDocument> {
  const turns = deps.turns.for({ tenant });
  const { turnId } = turn;
  const failure = toFailure(turnCancelled(), turn);
  const progress = buildResumeState(await loadCheckpoints(deps.bodies.for({ tenant }), turnId, turn.steps));
  const usage = getRunningUsage(turn, progress);
  const ended = await commitCancel(turns, { turn, failure, lastFrame: FINAL_FRAME, now: deps.store.now(), usage, steps: progress.steps });
  if (ended) {
    recordEnd('durable', failure, deps.store.now() - turn.createdAt);
    logFailedTurn(deps.log, tenant, { turn: ended, error: turnCancelled() });
  }
  const existing = ended ?? (await turns.get(turnId)) ?? turn;
  if (!hasEnded(existing)) throw new ServiceError('UNAVAILABLE', 'The turn could not be cancelled. Retry the request.');
  if (existing.parked) await deps.withdrawApproval?.(tenant, existing.parked.requestId);
  if (existing.state === 'cancelled') await notifyEnd(deps, tenant, existing);
  else if (existing.continuePendingSince) await forbidContinuation(turns, turnId);
  return existing;
}
