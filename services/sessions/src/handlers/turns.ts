import type { Handler } from '@switchyard/bus';
import type { Collection } from '@switchyard/store';
import type { SessionDocument, TurnDocument } from '../data.ts';
import { follows, noSuchTurn } from '../sessions/ownership.ts';
import type { Runner } from '../turns/runner.ts';
import { runStateless, runWhole, type StatelessDeps } from '../turns/stateless.ts';

/** Accepts a durable turn for a route that listens to its frames. */
export function turnsStart(runner: Runner): Handler<'turns.start'> {
  return async (request, ctx) => {
    const { turnId, sessionKey, state } = await runner.start(
      { ...request, method: 'turns.start', origin: { requestId: ctx.requestId, traceparent: ctx.traceparent } },
      ctx.principal,
    );
    return { turnId, sessionKey, state };
  };
}

/** A turn that keeps nothing; leaving its stream ends it. */
export function turnsRun(deps: StatelessDeps): Handler<'turns.run'> {
  return (turn, ctx) => {
    const frames = runStateless(deps, turn, ctx);
    return turn.whole === true ? runWhole(frames) : frames;
  };
}

/** How far a turn is, for the client that started it. Anybody else's is as unknown as one that never was. */
export function turnsResume(turns: Collection<TurnDocument>, sessions: Collection<SessionDocument>): Handler<'turns.resume'> {
  return async ({ turnId }, { principal }) => {
    const turn = await turns.for(principal).get(turnId);
    if (!turn || !(await follows(sessions, principal, turn))) throw noSuchTurn();
    const { sessionKey, state, lastFrame, result, failure } = turn;
    return {
      turnId,
      sessionKey,
      state,
      ...(lastFrame === undefined ? {} : { lastFrame }),
      ...(result === undefined ? {} : { result }),
      ...(failure === undefined ? {} : { failure }),
    };
  };
}
