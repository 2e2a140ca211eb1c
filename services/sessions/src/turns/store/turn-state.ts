import type { Principal, TurnId, TurnState } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import type { z } from 'zod';
import type { SessionDocument } from '../../model/session-document.ts';
import type { TurnDocument } from '../../model/turn-document.ts';
import { readEntry } from '../../model/queue-entry.ts';

export interface TurnReading {
  sessions: Collection<SessionDocument>;
  turns: Collection<TurnDocument>;
}

/** State of a turn. With `heardBy`, another turn has merged it and publishes its end. */
export interface Stands {
  state: TurnState;
  heardBy?: z.infer<typeof TurnId>;
}

/**
 * Returns the state of the document, except for a queued turn that the queue head has merged. That is recorded only in the document of the
 * head.
 */
export async function stateOf({ sessions, turns }: TurnReading, principal: Principal, turn: TurnDocument): Promise<Stands> {
  const { turnId, sessionKey, state } = turn;
  if (state !== 'queued') return { state };
  const [first] = (await sessions.for(principal).get(sessionKey))?.queue ?? [];
  if (first === undefined || readEntry(first).turnId === turnId) return { state };
  const lead = await turns.for(principal).get(readEntry(first).turnId);
  const isHeard = lead?.state !== 'cancelled' && lead?.joined?.some((heard) => heard.turnId === turnId) === true;
  return isHeard ? { state: 'running', heardBy: lead.turnId } : { state };
}
