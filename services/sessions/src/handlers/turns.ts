import type { Handler } from '@switchyard/bus';
import { mintId } from '@switchyard/security';
import type { Collection, Store } from '@switchyard/store';
import type { SessionDocument } from '../model/session-document.ts';
import { type TurnDocument, hasEnded } from '../model/turn-document.ts';
import { loadTexts, type Bodies } from '../model/stored-text.ts';
import type { BodyDocument } from '../model/text-document.ts';
import { canFollow, turnNotFound } from '../model/session-ownership.ts';
import { loadCheckpoints, buildResumeState } from '../model/checkpoint-log.ts';
import type { IdempotentTurns } from '../stateless/idempotent-turns.ts';
import type { TurnRunner } from '../turns/turn-runner.ts';
import { findTurnByKey, scopeKey } from '../turns/store/idempotency-key.ts';
import { getTurnState } from '../turns/store/turn-state.ts';
import { completeStateless, runStateless, type StatelessDeps } from '../stateless/stateless-turn.ts';
import { loadTurnEnd } from '../turns/ending/turn-waiters.ts';

/** Accepts a durable turn for a route that subscribes to its frames. */
export function turnsStart(runner: TurnRunner): Handler<'turns.start'> {
  return async (request, ctx) => {
    const { turnId, sessionKey, state } = await runner.start(
      { ...request, method: 'turns.start', origin: { requestId: ctx.requestId, traceparent: ctx.traceparent } },
      ctx.principal,
    );
    return { turnId, sessionKey, state };
  };
}

/** Accepts a durable turn that another service orders. */
export function turnsOrder(runner: TurnRunner): Handler<'turns.order'> {
  return async ({ kind, origin, limits, history, ...request }, ctx) => {
    const order = { kind, origin, ...(limits && { limits }), ...(history && { history }) };
    const ids = { requestId: ctx.requestId, traceparent: ctx.traceparent };
    const { turnId, sessionKey, state } = await runner.start(
      { ...request, turnId: mintId('turn'), method: 'turns.order', order, origin: ids },
      ctx.principal,
    );
    return { turnId, sessionKey, state };
  };
}

export interface TurnsCancelDeps {
  turns: Collection<TurnDocument>;
  store: Pick<Store, 'now'>;
  runner: Pick<TurnRunner, 'cancel'>;
}

/** Cancels one turn for the service that ordered it. */
export function turnsCancel({ runner, ...deps }: TurnsCancelDeps): Handler<'turns.cancel'> {
  return async ({ turnId: id, idempotencyKey: key = '' }, { principal }) => {
    const idempotencyKey = scopeKey({ principal, method: 'turns.order', key });
    const turnId = id ?? (await findTurnByKey(deps, { principal, idempotencyKey }))?.turnId;
    if (turnId === undefined) throw turnNotFound();
    const { turns } = await runner.cancel({ turnId }, principal);
    return { turnId, state: turns[0]?.state ?? 'cancelled' };
  };
}

/** Runs a stateless turn. Closing the stream cancels it. */
export function turnsRun(deps: StatelessDeps): Handler<'turns.run'> {
  return (turn, ctx) => runStateless(deps, turn, ctx);
}

/** Runs a stateless turn and returns its result in one reply. A disconnect of the caller cancels it. */
export function turnsComplete(deps: StatelessDeps): Handler<'turns.complete'> {
  return (turn, ctx) => completeStateless(deps, turn, ctx);
}

/** Runs a stateless turn once per idempotency key. It continues if the caller disconnects. */
export function turnsOnce(once: IdempotentTurns): Handler<'turns.once'> {
  return (params, { principal, requestId, traceparent }) => once.start(params, { principal, requestId, traceparent });
}

export interface TurnsResumeDeps {
  sessions: Collection<SessionDocument>;
  turns: Collection<TurnDocument>;
  bodies: Collection<BodyDocument>;
  runner: Pick<TurnRunner, 'follow'>;
  once: Pick<IdempotentTurns, 'status'>;
}

/** Returns the state of a turn to the client that started it. Returns NOT_FOUND for a turn of another client. */
export function turnsResume({ sessions, turns, bodies, runner, once }: TurnsResumeDeps): Handler<'turns.resume'> {
  return async ({ turnId }, { principal }) => {
    const turn = await turns.for(principal).get(turnId);
    const keyed = turn ? undefined : await once.status(principal, turnId);
    if (keyed) return keyed;
    if (!turn || !(await canFollow(sessions, principal, turn))) throw turnNotFound();
    const { sessionKey, lastFrame } = turn;
    if (!hasEnded(turn)) runner.follow(turnId);
    const stands = await getTurnState({ sessions, turns }, principal, turn);
    const how = hasEnded(turn) ? await getAll(bodies.for(principal), turn) : await soFar(bodies.for(principal), turn);
    const waits = !hasEnded(turn) && turn.parked !== undefined ? { waitsForApproval: true } : {};
    return { turnId, sessionKey, ...stands, ...waits, ...(lastFrame === undefined ? {} : { lastFrame }), ...how };
  };
}

/** Returns the outcome of a turn and its complete text. */
async function getAll(bodies: Bodies, turn: TurnDocument) {
  const end = await loadTurnEnd(bodies, turn);
  const { turnId, steps, lastFrame: frame, fence } = turn;
  if (end.failure || frame === undefined) return end;
  const { text, response } = buildResumeState(await loadCheckpoints(bodies, turnId, steps));
  const last = end.result.response;
  // If the last step had no text, the response is the text of an earlier step and is not appended again.
  return { ...end, soFar: { text: steps.length > 0 && last === response ? text : text + last, frame, fence } };
}

/** Returns the text of a running turn at its last checkpoint, and the number of the next frame. */
async function soFar(bodies: Bodies, { turnId, steps, tail, frame, fence }: TurnDocument) {
  if (frame === undefined) return {};
  const { text } = buildResumeState(await loadCheckpoints(bodies, turnId, steps));
  const pieces = await loadTexts(
    bodies,
    tail.map((message) => ({ turnId, content: message })),
  );
  return { soFar: { text: text + pieces.join(''), frame, fence } };
}
