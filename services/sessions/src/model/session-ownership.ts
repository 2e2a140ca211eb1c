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

/** Added to a filter, it leaves the sessions that the viewer may know of. In a write it holds at the instant of the write. */
export function visibilityFilter({ client, sessions, agents }: Viewer): Pick<Filter<SessionDocument>, 'createdBy' | 'agentId'> {
  return { ...(sessions === 'own' ? { createdBy: client } : {}), ...(agents && { agentId: { in: [...agents] } }) };
}

/** Whether the viewer may know of a session. One that was written before its maker was remembered is nobody's own. */
export function canSee({ client, sessions, agents }: Viewer, { createdBy, agentId }: SessionDocument): boolean {
  return (sessions !== 'own' || createdBy === client) && canUseAgent({ agents }, agentId);
}

/**
 * Whether the session has the client's own name on it and somebody else made it first: its maker could read what the client says
 * there, who takes it for its own.
 */
export function isTakenByOther({ client }: Viewer, { userId, createdBy }: SessionDocument): boolean {
  return userId === client && createdBy !== undefined && createdBy !== client;
}

/** Whether a turn is the viewer's to follow: it started the turn, and in a session that it may know of. */
export async function canFollow(sessions: Collection<SessionDocument>, principal: Principal, turn: TurnDocument): Promise<boolean> {
  if (turn.client !== principal.client) return false;
  // A turn that was accepted with the own-sessions restriction stays visible to its client even if the session is recreated.
  if (principal.sessions !== 'own' || turn.sessions === 'own') return true;
  const session = await sessions.for(principal).get(turn.sessionKey);
  return session !== null && canSee(principal, session);
}

/** The same words for a session of somebody else and for one that never was. */
export function sessionNotFound(): ServiceError {
  return new ServiceError('NOT_FOUND', 'There is no such session.');
}

/** Returned only to clients that may read the session anyway. */
export function sessionTaken(key: string): ServiceError {
  const message = `Another client made the session ${key} before you: name another one, or have it deleted.`;
  return new ServiceError('FAILED_PRECONDITION', message, { details: { reason: 'SESSION_TAKEN' } });
}

/** The same for a turn. */
export function turnNotFound(): ServiceError {
  return new ServiceError('NOT_FOUND', 'There is no such turn.');
}
