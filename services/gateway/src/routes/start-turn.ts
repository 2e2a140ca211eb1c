import type { Bus, CallOptions } from '@switchyard/bus';
import { TURNS_LOG } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import type { ChatRequest } from './chat-request.ts';
import { restError } from './errors.ts';
import { openTurnReader, type TurnReader, type TurnStatus } from './turn-reader.ts';

/** A durable turn that was accepted, and who listens to it. */
export interface StartedTurn {
  turnId: string;
  reader: TurnReader;
  /** Where the turn stands that an idempotency key named; undefined for one that begins now. */
  earlier: TurnStatus | undefined;
}

/**
 * Starts a durable turn and listens from before its first frame. `bus` speaks for the client. Whoever
 * leaves closes the reader; the turn goes on.
 */
export async function startTurn(bus: Bus, chat: ChatRequest, options: CallOptions): Promise<StartedTurn> {
  await bus.log(TURNS_LOG); // frames are kept from the first on only if there is a log to keep them
  const minted = mintId('turn');
  const reader = openTurnReader({ bus, turnId: minted });
  try {
    const { turnId } = await bus.call('turns.start', { ...chat, turnId: minted }, options);
    if (turnId === minted) return { turnId, reader, earlier: undefined };
    reader.close();
    return await joinTurn(bus, turnId, options);
  } catch (error) {
    reader.close();
    throw restError(error);
  }
}

/** Follows a turn that began earlier; NOT_FOUND unless it is the client's own. */
export async function joinTurn(bus: Bus, turnId: string, options: CallOptions): Promise<StartedTurn & { earlier: TurnStatus }> {
  const reader = openTurnReader({ bus, turnId });
  try {
    return { turnId, reader, earlier: await bus.call('turns.resume', { turnId }, options) };
  } catch (error) {
    reader.close();
    throw error;
  }
}
