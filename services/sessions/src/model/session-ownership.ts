import { canUseAgent, ServiceError, type Principal } from '@switchyard/contracts';
import type { Collection, Filter } from '@switchyard/store';
import type { SessionDocument } from './session-document.ts';
import type { TurnDocument } from './turn-document.ts';

/** A client and the sessions and agents that its token is restricted to. */
export interface Viewer {
  client: string;
  sessions?: Principal['sessions'] | undefined;
  agents?: Principal['agents'];
}

/** Filter for the sessions that the viewer may see. In a write guard it is checked at the time of the write. */
export function visibilityFilter({ client, sessions, agents }: Viewer): Pick<Filter<SessionDocument>, 'createdBy' | 'agentId'> {
  return { ...(sessions === 'own' ? { createdBy: client } : {}), ...(agents && { agentId: { in: [...agents] } }) };
}

/** Returns whether the viewer may see a session. A session without `createdBy` belongs to no client. */
export function canSee({ client, sessions, agents }: Viewer, { createdBy, agentId }: SessionDocument): boolean {
  return (sessions !== 'own' || createdBy === client) && canUseAgent({ agents }, agentId);
}

/** Returns whether the session is named after the client but was created by another client, who could read what the client writes there. */
export function isTakenByOther({ client }: Viewer, { userId, createdBy }: SessionDocument): boolean {
  return userId === client && createdBy !== undefined && createdBy !== client;
}

/** Returns whether the viewer may follow a turn: it started the turn, in a session that it may see. */
export async function canFollow(sessions: Collection<SessionDocument>, principal: Principal, turn: TurnDocument): Promise<boolean> {
  if (turn.client !== principal.client) return false;
  // A turn that was accepted with the own-sessions restriction stays visible to its client even if the session is recreated.
  if (principal.sessions !== 'own' || turn.sessions === 'own') return true;
  const session = await sessions.for(principal).get(turn.sessionKey);
  return session !== null && canSee(principal, session);
}

/** Returned both for a missing session and for a session of another client, so that neither can be told apart. */
export function sessionNotFound(): ServiceError {
  return new ServiceError('NOT_FOUND', 'Session not found.');
}

/** Returned only to clients that may read the session anyway. */
export function sessionTaken(key: string): ServiceError {
  const message = `Session ${key} was created by another client. Use another session key, or delete that session.`;
  return new ServiceError('FAILED_PRECONDITION', message, { details: { reason: 'SESSION_TAKEN' } });
}

/** Returned both for a missing turn and for a turn of another client. */
export function turnNotFound(): ServiceError {
  return new ServiceError('NOT_FOUND', 'Turn not found.');
}
