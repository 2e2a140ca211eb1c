import type { Bus, CallOptions } from '@switchyard/bus';
import { ServiceError, TURNS_LOG, type Params } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import { createNotFollowedError } from './turn-errors.ts';
import { openTurnReader, type TurnReader, type TurnStatus } from './turn-reader.ts';

/** The request of a chat route, without the turn id. */
export type ChatRequest = Omit<Params<'turns.start'>, 'turnId'>;

/** An accepted durable turn and its reader. */
export interface StartedTurn {
  turnId: string;
  reader: TurnReader;
  /** Whether a retry of the request returns to this turn. */
  repeatable: boolean;
  /** The status of an existing turn found by its idempotency key; undefined for a new turn. */
  earlier: TurnStatus | undefined;
}

/**
 * Starts a durable turn and subscribes before its first frame. `bus` calls as the client. When the client disconnects, the route closes
 * the reader and the turn continues.
 */
export async function startTurn(bus: Bus, chat: ChatRequest & { turnId?: string }, options: CallOptions): Promise<StartedTurn> {
  await bus.log(TURNS_LOG); // the log must exist before the first frame
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

/** Without an idempotency key a retry starts a second turn, so it is not offered if the first may have been accepted. */
function markNotRetryable(error: unknown, turnId: string): unknown {
  const accepted = error instanceof ServiceError && error.details['mayHaveRun'] === true;
  return accepted ? createNotFollowedError(error, { turnId, repeatable: false }) : error;
}

/** Requests a turn again under the id that the client got before acceptance was known. The id prevents a second turn. */
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

/** Follows an existing turn. NOT_FOUND for a turn of another client. */
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
