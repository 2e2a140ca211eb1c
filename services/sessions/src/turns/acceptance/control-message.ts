import type { Principal } from '@switchyard/contracts';
import { canFollow, sessionNotFound } from '../../model/session-ownership.ts';
import { DAY_MS } from '../../model/retention.ts';
import { storeText } from '../../model/stored-text.ts';
import type { TurnDocument } from '../../model/turn-document.ts';
import { rejectIfForbidden } from '../../queue/session-queue.ts';
import { findTurnByKey } from '../store/idempotency-key.ts';
import { noUsage, turnEndedEvent } from '../store/turn-ended-event.ts';
import { createTurn, resolveRequest, type AcceptTurnDeps, type TurnRequest } from './turn-acceptance.ts';

/** Session and sender of a control message. */
export interface ControlTarget {
  sessionKey: string;
  senderId: string;
}

/**
 * Answers a message that controls waiting turns. It is carried out when it arrives and enters no queue, because the turn that it is about
 * may be the head of that queue. It is not part of the history. A known idempotency key returns the earlier answer.
 */
export async function answerControlMessage(
  deps: AcceptTurnDeps,
  request: TurnRequest,
  principal: Principal,
  carryOut: (target: ControlTarget) => Promise<string>,
): Promise<TurnDocument> {
  const requested = resolveRequest(deps, request, principal);
  const { identity, sessionKey } = requested;
  const earlier = await findTurnByKey(deps, requested);
  if (earlier) {
    if (!(await canFollow(deps.sessions, principal, earlier))) throw sessionNotFound();
    return earlier;
  }
  const session = await deps.sessions.for(principal).get(sessionKey);
  const orderedBy = request.order?.origin.service;
  if (session) rejectIfForbidden(session, { ...principal, identity, key: sessionKey, orderedBy });
  // Only the channels service vouches for the sender that a session is named after.
  const text = await carryOut({ sessionKey, senderId: orderedBy === 'channels' ? identity.userId : principal.client });
  const now = deps.store.now();
  const turn: TurnDocument = {
    ...(await createTurn(deps, requested)),
    state: 'done',
    answer: await storeText(deps.bodies.for(principal), request.turnId, text),
    finishReason: 'command',
    tokensUsed: { input: 0, output: 0, total: 0 },
    stepCount: 0,
    costUsd: 0,
    lastFrame: 0,
    finishedAt: now,
    forgetAt: now + DAY_MS,
  };
  const end = turnEndedEvent(turn, { state: 'done', finishReason: 'command', usage: noUsage(), steps: 0, now });
  return deps.turns.for(principal).insert(turn, { emit: [end] });
}
