import { ServiceError, type Principal } from '@switchyard/contracts';
import type { Collection, Filter } from '@switchyard/store';
import type { SessionDocument, TurnDocument } from '../data.ts';

/** Whose eyes: a client, and whether it is held to the sessions that it made. */
export interface Viewer {
  client: string;
  sessions?: Principal['sessions'] | undefined;
}

/** Added to a filter, it leaves the sessions that the viewer may know of. In a write it holds at the instant of the write. */
export function seenBy({ client, sessions }: Viewer): Filter<SessionDocument> {
  return sessions === 'own' ? { createdBy: client } : {};
}

/** Whether the viewer may know of a session. One that was written before its maker was remembered is nobody's own. */
export function sees({ client, sessions }: Viewer, { createdBy }: SessionDocument): boolean {
  return sessions !== 'own' || createdBy === client;
}

/** Whether a turn is the viewer's to follow: it started the turn, and in a session that it may know of. */
export async function follows(sessions: Collection<SessionDocument>, principal: Principal, turn: TurnDocument): Promise<boolean> {
  if (turn.client !== principal.client) return false;
  // Accepted as held to its own sessions, the turn stays its client's, whatever became of the session.
  if (principal.sessions !== 'own' || turn.sessions === 'own') return true;
  const session = await sessions.for(principal).get(turn.sessionKey);
  return session !== null && sees(principal, session);
}

/** The same words for a session of somebody else and for one that never was. */
export function noSuchSession(): ServiceError {
  return new ServiceError('NOT_FOUND', 'There is no such session.');
}

/** The same for a turn. */
export function noSuchTurn(): ServiceError {
  return new ServiceError('NOT_FOUND', 'There is no such turn.');
}
