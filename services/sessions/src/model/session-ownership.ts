import { canUseAgent, ServiceError, type Principal } from '@switchyard/contracts';
import type { Collection, Filter } from '@switchyard/store';
import type { SessionDocument } from './session-document.ts';
import type { TurnDocument } from './turn-document.ts';

/** Whose eyes: a client, whether it is held to the sessions that it made, and to which agents. */
export interface Viewer {
  client: string;
  sessions?: Principal['sessions'] | undefined;
  agents?: Principal['agents'];
}

/** Added to a filter, it leaves the sessions that the viewer may know of. In a write it holds at the instant of the write. */
export function seenBy({ client, sessions, agents }: Viewer): Pick<Filter<SessionDocument>, 'createdBy' | 'agentId'> {
  return { ...(sessions === 'own' ? { createdBy: client } : {}), ...(agents && { agentId: { in: [...agents] } }) };
}

/** Whether the viewer may know of a session. One that was written before its maker was remembered is nobody's own. */
export function sees({ client, sessions, agents }: Viewer, { createdBy, agentId }: SessionDocument): boolean {
  return (sessions !== 'own' || createdBy === client) && canUseAgent({ agents }, agentId);
}

/**
 * Whether the session has the client's own name on it and somebody else made it first: its maker could read what the client says
 * there, who takes it for its own.
 */
export function takenBefore({ client }: Viewer, { userId, createdBy }: SessionDocument): boolean {
  return userId === client && createdBy !== undefined && createdBy !== client;
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

/** Only who may read the session anyway is told. */
export function sessionTaken(key: string): ServiceError {
  const message = `Another client made the session ${key} before you: name another one, or have it deleted.`;
  return new ServiceError('FAILED_PRECONDITION', message, { details: { reason: 'SESSION_TAKEN' } });
}

/** The same for a turn. */
export function noSuchTurn(): ServiceError {
  return new ServiceError('NOT_FOUND', 'There is no such turn.');
}
