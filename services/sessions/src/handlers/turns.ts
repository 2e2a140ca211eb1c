import type { Handler } from '@switchyard/bus';
import type { Collection } from '@switchyard/store';
import type { BodyDocument, SessionDocument, TurnDocument } from '../data.ts';
import { follows, noSuchTurn } from '../sessions/ownership.ts';
import { texts, type Bodies } from '../turns/bodies.ts';
import { readMarks, standingOf } from '../turns/journal.ts';
import type { Runner } from '../turns/runner.ts';
import { completeStateless, runStateless, type StatelessDeps } from '../turns/stateless.ts';
import { hasEnded } from '../turns/turn-writes.ts';
import { endOf } from '../turns/waiting.ts';

/** Characters that an answer may have to be told twice, as the answer and as what was said. */
const MOST_REPEATED = 1_048_576;

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
  return (turn, ctx) => runStateless(deps, turn, ctx);
}

/** The same in one answer; whoever leaves it ends it as well. */
export function turnsComplete(deps: StatelessDeps): Handler<'turns.complete'> {
  return (turn, ctx) => completeStateless(deps, turn, ctx);
}

export interface TurnsResumeDeps {
  sessions: Collection<SessionDocument>;
  turns: Collection<TurnDocument>;
  bodies: Collection<BodyDocument>;
}

/** How far a turn is, for the client that started it. Anybody else's is as unknown as one that never was. */
export function turnsResume({ sessions, turns, bodies }: TurnsResumeDeps): Handler<'turns.resume'> {
  return async ({ turnId }, { principal }) => {
    const turn = await turns.for(principal).get(turnId);
    if (!turn || !(await follows(sessions, principal, turn))) throw noSuchTurn();
    const { sessionKey, state, lastFrame } = turn;
    const how = hasEnded(turn) ? await howEnded(bodies.for(principal), turn) : await soFar(bodies.for(principal), turn);
    return { turnId, sessionKey, state, ...(lastFrame === undefined ? {} : { lastFrame }), ...how };
  };
}

/** How a turn ended, and for a reader who missed some of it, what it said. */
async function howEnded(bodies: Bodies, turn: TurnDocument) {
  const { turnId, steps, lastFrame, fence } = turn;
  const end = await endOf(bodies, turn);
  if (end.failure || lastFrame === undefined) return end;
  const { response } = end.result;
  const before = standingOf(await readMarks(bodies, turnId, steps));
  // The answer of a turn whose last step said nothing is that of a step before.
  const text = before.text.endsWith(response) && before.response === response ? before.text : before.text + response;
  return text.length > MOST_REPEATED ? end : { ...end, soFar: { text, frame: lastFrame, fence } };
}

/** What a running turn has said, as of its last checkpoint, and the frame that comes next. */
async function soFar(bodies: Bodies, { turnId, steps, tail, frame, fence }: TurnDocument) {
  if (frame === undefined) return {};
  const { text } = standingOf(await readMarks(bodies, turnId, steps));
  const pieces = await texts(
    bodies,
    tail.map((said) => ({ turnId, said })),
  );
  return { soFar: { text: text + pieces.join(''), frame, fence } };
}
