import type { Bus, CallOptions } from '@switchyard/bus';
import { ServiceError, TURNS_LOG, type Params } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import { createNotFollowedError } from './turn-errors.ts';
import { openTurnReader, type TurnReader, type TurnStatus } from './turn-reader.ts';

/** What a chat route asks of an agent; the route adds the id of the turn. */
export type ChatRequest = Omit<Params<'turns.start'>, 'turnId'>;

/** A durable turn that was accepted, and who listens to it. */
export interface StartedTurn {
  turnId: string;
  reader: TurnReader;
  /** Whether the same request made again comes back to this turn. */
  repeatable: boolean;
  /** Where the turn stands that an idempotency key named; undefined for one that begins now. */
  earlier: TurnStatus | undefined;
}

/**
 * Starts a durable turn and listens from before its first frame. `bus` speaks for the client. Whoever
 * leaves closes the reader; the turn goes on.
 */
export async function startTurn(bus: Bus, chat: ChatRequest & { turnId?: string }, options: CallOptions): Promise<StartedTurn> {
  await bus.log(TURNS_LOG); // frames are kept from the first on only if there is a log to keep them
  const { turnId: newTurnId = mintId('turn') } = chat;
  const repeatable = chat.idempotencyKey !== undefined;
  const reader = openTurnReader({ bus, turnId: newTurnId, repeatable });
  try {
    const { turnId } = await bus.call('turns.start', { ...chat, turnId: newTurnId }, options);
    if (turnId === newTurnId) return { turnId, reader, repeatable, earlier: undefined };
    reader.close();
    return await followTurn(bus, turnId, options);
  } catch (error) {
    reader.close();
    throw repeatable ? error : markNotRetryable(error, newTurnId);
  }
}

/** The client that asks again asks for another turn: it must not, where this one may have been accepted. */
function markNotRetryable(error: unknown, turnId: string): unknown {
  const accepted = error instanceof ServiceError && error.details['mayHaveRun'] === true;
  return accepted ? createNotFollowedError(error, { turnId, repeatable: false }) : error;
}

/** Asks once more for a turn, under the id that its client was told before anybody knew whether it is accepted: it is one turn. */
export async function restartTurn(bus: Bus, params: Params<'turns.start'>, options: CallOptions): Promise<StartedTurn> {
  await bus.log(TURNS_LOG);
  let { turnId } = params;
  let startError: unknown;
  try {
    ({ turnId } = await bus.call('turns.start', params, options));
  } catch (error) {
    startError = error;
  }
  try {
    return await followTurn(bus, turnId, options);
  } catch (error) {
    throw startError ?? error;
  }
}

/** Follows a turn that began earlier; NOT_FOUND unless it is the client's own. */
export async function followTurn(bus: Bus, turnId: string, options: CallOptions): Promise<StartedTurn & { earlier: TurnStatus }> {
  const repeatable = true;
  const reader = openTurnReader({ bus, turnId, repeatable });
  try {
    return { turnId, reader, repeatable, earlier: await bus.call('turns.resume', { turnId }, options) };
  } catch (error) {
    reader.close();
    throw error;
  }
}
