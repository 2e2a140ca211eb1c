import type { Principal, TurnId, TurnState } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import type { z } from 'zod';
import type { SessionDocument } from '../../model/session-document.ts';
import type { TurnDocument } from '../../model/turn-document.ts';
import { parseEntry } from '../../model/queue-entry.ts';

export interface TurnStateDeps {
  sessions: Collection<SessionDocument>;
  turns: Collection<TurnDocument>;
}

/** State of a turn. With `heardBy`, another turn has merged it and publishes its end. */
export interface TurnStateInfo {
  state: TurnState;
  heardBy?: z.infer<typeof TurnId>;
}

/**
 * Returns the state of the document, except for a queued turn that the queue head has merged. That is recorded only in the document of the
 * head.
 */
export async function getTurnState({ sessions, turns }: TurnStateDeps, principal: Principal, turn: TurnDocument): Promise<TurnStateInfo> {
  const { turnId, sessionKey, state } = turn;
  if (state !== 'queued') return { state };
  const [first] = (await sessions.for(principal).get(sessionKey))?.queue ?? [];
  if (first === undefined || parseEntry(first).turnId === turnId) return { state };
  const lead = await turns.for(principal).get(parseEntry(first).turnId);
  const isHeard = lead?.state !== 'cancelled' && lead?.merged?.some((merged) => merged.turnId === turnId) === true;
  return isHeard ? { state: 'running', heardBy: lead.turnId } : { state };
}
