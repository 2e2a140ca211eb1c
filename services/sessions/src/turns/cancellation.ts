import { ServiceError, type Input, type Principal, type Result } from '@switchyard/contracts';
import type { Collection, Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import { type TurnDocument, hasEnded } from '../model/turn-document.ts';
import { readEntry } from '../model/queue-entry.ts';
import { follows, noSuchTurn, sees } from '../model/session-ownership.ts';
import { meantSession, type MeaningDeps } from './acceptance/session-target.ts';
import { turnCancelled } from './store/turn-errors.ts';
import { toFailure } from './store/turn-failure.ts';
import { forbidAfter, forbidFollowUp } from './execution/auto-continue.ts';
import { FRAME_AFTER_ALL } from '../frames/frame-publisher.ts';
import { logFailedTurn } from './store/turn-failure-log.ts';
import { makeKnown, type MakingKnown } from './ending/end-notification.ts';
import { noteEnd } from './store/turn-metrics.ts';
import { commitCancel } from './store/turn-store.ts';

/*
 * A cancellation is a guarded write like any other end of a turn, by whoever is asked for it; it needs neither the lease nor the
 * replica that runs the turn. What follows only makes it known sooner.
 *
 * | It comes                    | What it meets                                  | What happens                                              |
 * | --------------------------- | ---------------------------------------------- | --------------------------------------------------------- |
 * | before                      | no such turn                                   | NOT_FOUND, of a session nothing; nothing is remembered    |
 * | before it is in a queue     | a turn that no queue holds                     | it ends; whoever enters it then, the next claim takes out |
 * | while it waits              | an entry with nobody at work on it             | it ends, and leaves the queue at once                     |
 * | while it runs               | a runner, here or elsewhere                    | it ends; the runner hears it, stops, and settles it       |
 * | unheard                     | a runner that the bus does not reach           | it finds out by its next write, or by looking, in seconds |
 * | while its runner is paused  | a lease that runs out                          | it ends; every write of the runner misses                 |
 * | twice                       | a turn that was cancelled                      | what was left undone is done; the answer is the same      |
 * | late                        | a turn that has ended otherwise                | the guard misses; the answer says how it ended            |
 * | while the answer is written | one of the two writes comes first              | the other one's guard misses                              |
 * | and whoever cancels dies    | an end that nobody was told of, or an entry    | the runner, or the next claim, tells and settles it       |
 */

export interface CancelDeps extends MakingKnown, MeaningDeps {
  turns: Collection<TurnDocument>;
  store: Pick<Store, 'now'>;
  log: Logger;
}

/** Ends what a caller means of its own turns. Fails NOT_FOUND for a turn that is not its to follow, as for one that never was. */
export async function cancel(deps: CancelDeps, meant: Input<'agent.cancel'>, principal: Principal): Promise<Result<'agent.cancel'>> {
  return meant.turnId === undefined
    ? cancelSession(deps, meant, principal)
    : cancelOne(deps, { ...meant, turnId: meant.turnId }, principal);
}

async function cancelOne(
  deps: CancelDeps,
  { turnId, agentId, sessionKey }: Input<'agent.cancel'> & { turnId: string },
  principal: Principal,
): Promise<Result<'agent.cancel'>> {
  const turn = await deps.turns.for(principal).get(turnId);
  if (!turn || !(await follows(deps.sessions, principal, turn))) throw noSuchTurn();
  const elsewhere = sessionKey !== undefined && meantSession(deps, { agentId, session: sessionKey }, principal).key !== turn.sessionKey;
  if (elsewhere || (agentId !== undefined && agentId !== turn.agentId)) throw noSuchTurn();
  return answer(turn.sessionKey, [await end(deps, principal.tenant, turn)]);
}

/** The last one first, so that none of them begins because the one before it has ended. */
async function cancelSession(
  deps: CancelDeps,
  { agentId, sessionKey }: Input<'agent.cancel'>,
  principal: Principal,
): Promise<Result<'agent.cancel'>> {
  const { key } = meantSession(deps, { agentId, session: sessionKey }, principal);
  const sessions = deps.sessions.for(principal);
  const seen = await sessions.get(key);
  // What is entered after this finds out, and what was entered before is read next.
  if (seen && sees(principal, seen)) await forbidAfter(deps.turns.for(principal), seen, principal.client);
  const session = seen && (await sessions.get(key));
  const ended: TurnDocument[] = [];
  for (const entry of session && sees(principal, session) ? session.queue.toReversed() : []) {
    const turn = await deps.turns.for(principal).get(readEntry(entry).turnId);
    if (turn?.client === principal.client) ended.unshift(await end(deps, principal.tenant, turn));
  }
  return answer(key, ended);
}

function answer(sessionKey: string, ended: readonly TurnDocument[]): Result<'agent.cancel'> {
  const turns = ended.map(({ turnId, state }) => ({ turnId, state }));
  return { cancelled: turns.some(({ state }) => state === 'cancelled'), sessionKey, turns };
}

/** The turn as it has ended, by this or before. */
async function end(deps: CancelDeps, tenant: string, turn: TurnDocument): Promise<TurnDocument> {
  const turns = deps.turns.for({ tenant });
  const { turnId } = turn;
  const failure = toFailure(turnCancelled(), turn);
  const ended = await commitCancel(turns, { turn, failure, lastFrame: FRAME_AFTER_ALL, now: deps.store.now() });
  if (ended) {
    noteEnd('durable', failure, deps.store.now() - turn.createdAt);
    logFailedTurn(deps.log, tenant, { turn: ended, error: turnCancelled() });
  }
  const there = ended ?? (await turns.get(turnId)) ?? turn;
  if (!hasEnded(there)) throw new ServiceError('UNAVAILABLE', 'The turn could not be cancelled just now; try again.');
  if (there.state === 'cancelled') await makeKnown(deps, tenant, there);
  else if (there.unfollowed) await forbidFollowUp(turns, turnId);
  return there;
}
