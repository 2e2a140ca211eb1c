import { ServiceError, type Principal, type TurnFailure, type TurnResult } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import type { Models } from '@switchyard/models';
import type { Lease } from '@switchyard/service-kit';
import type { Collection, Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { Agent } from '../agents.ts';
import type { MessageDocument, SessionDocument, StepRecord, TurnDocument } from '../data.ts';
import { commitDeps, commitFailure, commitTurn, toFailure } from './commit.ts';
import type { FrameWriter } from './frames.ts';
import { runTurn, type TurnOutcome } from './loop.ts';
import { planTurn } from './plan.ts';

export interface RunDeps {
  bus: Bus;
  models: Models;
  sessions: Collection<SessionDocument>;
  messages: Collection<MessageDocument>;
  store: Pick<Store, 'now'>;
  log: Logger;
}

export interface RunGiven {
  lease: Lease<TurnDocument>;
  agent: Agent;
  principal: Principal;
  frames: FrameWriter;
  /** Aborts with the ServiceError that then ends the turn. */
  signal: AbortSignal;
}

export type TurnEnd = { result: TurnResult; failure?: undefined; outcome: TurnOutcome } | { failure: TurnFailure; result?: undefined };

/**
 * Runs a claimed turn to its end. Frames tell readers, but the guarded writes are the truth: a turn that was taken over
 * in the meantime writes and says nothing more. Undefined when that happened.
 */
export async function runDurable(deps: RunDeps, given: RunGiven): Promise<TurnEnd | undefined> {
  const { lease, frames, principal } = given;
  const commit = commitDeps(deps, principal.tenant);
  try {
    const outcome = await play(deps, given);
    await commitTurn(commit, lease, outcome, frames.next());
    frames.push({ type: 'done', result: outcome.result });
    return { result: outcome.result, outcome };
  } catch (error) {
    if (isFenced(error)) {
      deps.log.warn({ turnId: lease.document.turnId, errorKind: 'internal', hint: 'another replica took the turn over' }, 'turn fenced');
      return undefined;
    }
    const failure = toFailure(error, given.signal, lease.document.turnId);
    if (failure.code === 'INTERNAL') {
      deps.log.error({ turnId: lease.document.turnId, err: error, errorKind: 'internal', hint: 'a defect; see the stack' }, 'turn failed');
    }
    await commitFailure(commit, lease, failure, frames.next());
    frames.push({ type: 'error', error: failure });
    return { failure };
  }
}

async function play(deps: RunDeps, given: RunGiven): Promise<TurnOutcome> {
  const { lease, agent, principal, signal } = given;
  const plan = await planTurn(
    { bus: deps.bus, models: deps.models, messages: deps.messages.for(principal) },
    {
      turn: lease.document,
      agent,
      principal,
      signal,
      checkpoint: async (steps: readonly StepRecord[]) => {
        await lease.write({ set: { steps: structuredClone(steps) as StepRecord[] } });
      },
    },
  );
  const turn = runTurn(deps.models, plan);
  for (;;) {
    const frame = await turn.next();
    if (frame.done) return frame.value;
    given.frames.push(frame.value);
  }
}

function isFenced(error: unknown): boolean {
  return error instanceof ServiceError && error.details.reason === 'FENCED';
}

/** A stored failure as the error it was. */
export function toError(failure: TurnFailure): ServiceError {
  return new ServiceError(failure.code, failure.message, { details: failure.details ?? {} });
}
