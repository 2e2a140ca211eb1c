import { AgentId, canUseAgent, ServiceError, type Principal, type Sections } from '@switchyard/contracts';
import type { EntryDocument } from '../documents/collections.ts';

/** Everybody of the tenant. */
export const SHARED = '';

/** Whose memories a caller may find; undefined is everybody's. A client that is held to its own sessions is to its own memories too. */
export function ownersFor({ client, sessions }: Pick<Principal, 'client' | 'sessions'>): readonly string[] | undefined {
  return sessions === 'own' ? [SHARED, client] : undefined;
}

/** Whether an entry may be shown to a caller: not one that is gone, somebody else's, or, to an agent, another agent's. */
export function isVisible(entry: EntryDocument, principal: Principal, now: number): boolean {
  if (entry.goneAt !== undefined || (entry.expiresAt ?? Infinity) <= now) return false;
  if (principal.agent !== undefined && principal.agent !== entry.agentId) return false;
  if (!canUseAgent(principal, entry.agentId)) return false;
  return ownersFor(principal)?.includes(entry.owner) ?? true;
}

/** Whose memory is meant: an agent has its own and no other. */
export function agentOf(principal: Pick<Principal, 'agent' | 'agents'>, asked: string | undefined, routing: Sections['routing']): string {
  const { agent } = principal;
  if (agent !== undefined && asked !== undefined && asked !== agent) {
    throw new ServiceError('PERMISSION_DENIED', `The agent ${agent} has no memory but its own.`, { details: { reason: 'OTHER_AGENT' } });
  }
  const { defaultAgentId } = routing;
  const standard = AgentId.safeParse(defaultAgentId).success ? defaultAgentId : 'default';
  const meant = asked ?? agent ?? (canUseAgent(principal, standard) ? standard : (principal.agents?.[0] ?? standard));
  if (canUseAgent(principal, meant)) return meant;
  throw new ServiceError('PERMISSION_DENIED', `This token is not for the agent ${meant}.`, { details: { reason: 'OTHER_AGENT' } });
}
