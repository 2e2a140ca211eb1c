import { ServiceError, type Principal, type TurnFailure, type TurnResult } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import type { ModelRef, Models } from '@switchyard/models';
import type { Lease } from '@switchyard/service-kit';
import type { Logger } from '@switchyard/telemetry';
import type { Agent } from '../agents.ts';
import type { StepRecord, TurnDocument } from '../data.ts';
import { noSuchSession, sees } from '../sessions/ownership.ts';
import { commitFailure, commitResult, isFenced, settle, toFailure, type Ledger } from './commit.ts';
import { acceptedFrame, type FrameWriter } from './frames.ts';
import { runTurn, type FrameBody, type TurnOutcome } from './loop.ts';
import { modelOf, planTurn } from './plan.ts';
import { logFailedTurn } from './log-failed-turn.ts';
import { tellUsage } from './usage.ts';

export interface RunDeps extends Ledger {
  bus: Bus;
  models: Models;
  log: Logger;
}

export interface RunGiven {
  lease: Lease<TurnDocument>;
  agent: Agent;
  /** Asked for unless given. */
  model: ModelRef | undefined;
  principal: Principal;
  frames: FrameWriter;
  /** The span of the turn. */
  traceparent: string | undefined;
  /** Aborts with the ServiceError that then ends the turn. */
  signal: AbortSignal;
}

export type TurnEnd = { result: TurnResult; failure?: undefined } | { failure: TurnFailure; result?: undefined };

/**
 * Runs a claimed turn to its end. Frames tell readers, but the guarded writes are the truth: a turn that was taken over
 * in the meantime writes and says nothing more. Undefined when that happened.
 */
export async function runDurable(deps: RunDeps, given: RunGiven): Promise<TurnEnd | undefined> {
  try {
    const outcome = await play(deps, given);
    const turn = await commitResult(deps, given.lease, { outcome, lastFrame: given.frames.last() });
    await ended(deps, given, { turn, frame: { type: 'done', result: outcome.result } });
    tellUsage(deps.bus, given.lease.tenant, turn, outcome);
    return { result: outcome.result };
  } catch (error) {
    return fail(deps, given, error);
  }
}

/** An aborted turn ends with the reason of the abort, whatever broke because of it. */
async function fail(deps: RunDeps, given: RunGiven, error: unknown): Promise<TurnEnd | undefined> {
  const { lease, signal, frames } = given;
  const { turnId } = lease.document;
  const cause: unknown = signal.aborted && signal.reason instanceof ServiceError ? signal.reason : error;
  const failure = toFailure(cause, lease.document);
  try {
    if (isFenced(cause)) throw cause;
    const turn = await commitFailure(deps, lease, { failure, lastFrame: frames.last() });
    logFailedTurn(deps.log, lease.tenant, { turn, error: cause });
    await ended(deps, given, { turn, frame: { type: 'error', error: failure } });
    return { failure };
  } catch (refused) {
    if (!isFenced(refused)) throw refused;
    deps.log.warn({ turnId, errorKind: 'internal', hint: 'another replica has the turn, or has ended it' }, 'turn fenced');
    return undefined;
  }
}

/** Nothing after the commit point can undo it: what fails here is settled by the sweeper, or read from the turn's document. */
async function ended(deps: RunDeps, { lease, frames }: RunGiven, { turn, frame }: { turn: TurnDocument; frame: FrameBody }): Promise<void> {
  const warn = (err: unknown): void =>
    deps.log.warn({ turnId: turn.turnId, err, errorKind: 'dependency', hint: 'the sweeper settles it' }, 'turn ended, but not told');
  await settle(deps, lease.tenant, turn).catch(warn);
  try {
    frames.push(frame);
  } catch (error) {
    warn(error);
  }
}

async function play(deps: RunDeps, given: RunGiven): Promise<TurnOutcome> {
  const { lease, agent, principal, frames, signal, traceparent } = given;
  const model = given.model ?? (await modelOf(agent, deps.models));
  // Whoever accepted it died before it could say so.
  if (frames.next() === 0) frames.push(acceptedFrame(lease.document, model));
  await requireOwnLane(deps, lease);
  const checkpoint = async (steps: readonly StepRecord[]): Promise<void> => {
    await lease.write({ set: { steps: [...steps] } });
  };
  const plan = await planTurn(
    { bus: deps.bus, messages: deps.messages.for(principal) },
    { turn: lease.document, agent, model, principal, traceparent },
  );
  const turn = runTurn(deps.models, { ...plan, signal, checkpoint });
  for (;;) {
    const frame = await turn.next();
    if (frame.done) return frame.value;
    frames.push(frame.value);
  }
}

/**
 * A turn whose client is held to its own sessions runs only in the lane of one that this client made. The session may have been
 * deleted, and made again by somebody else, between two writes of the acceptance.
 */
async function requireOwnLane({ sessions }: RunDeps, { tenant, document: turn }: Lease<TurnDocument>): Promise<void> {
  if (turn.sessions !== 'own') return;
  const session = await sessions.for({ tenant }).get(turn.sessionKey);
  if (session?.activeTurn !== turn.turnId || !sees(turn, session)) throw noSuchSession();
}

/** A stored failure as the error it was. */
export function toError(failure: TurnFailure): ServiceError {
  return new ServiceError(failure.code, failure.message, { details: failure.details ?? {} });
}
