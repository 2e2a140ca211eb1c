import { AgentId, canUseAgent, ServiceError, type Principal, type Sections } from '@switchyard/contracts';
import type { EntryDocument } from '../documents/collections.ts';

/** The owner of memories that all clients of the tenant may find. */
export const SHARED = '';

/** The owners whose memories a caller may find; undefined for all. A token limited to its own sessions finds its own and shared memories. */
export function getVisibleOwners({ client, sessions }: Pick<Principal, 'client' | 'sessions'>): readonly string[] | undefined {
  return sessions === 'own' ? [SHARED, client] : undefined;
}

/** Whether the caller may see an entry. Deleted and expired entries, and entries of other owners or agents, are hidden. */
export function isVisible(entry: EntryDocument, principal: Principal, now: number): boolean {
  if (entry.deletedAt !== undefined || (entry.expiresAt ?? Infinity) <= now) return false;
  if (principal.agent !== undefined && principal.agent !== entry.agentId) return false;
  if (!canUseAgent(principal, entry.agentId)) return false;
  return getVisibleOwners(principal)?.includes(entry.owner) ?? true;
}

/** Resolves the agent whose memories are used. A calling agent may only use its own. */
export function resolveAgent(
  principal: Pick<Principal, 'agent' | 'agents'>,
  requested: string | undefined,
  routing: Sections['routing'],
): string {
  const { agent } = principal;
  if (agent !== undefined && requested !== undefined && requested !== agent) {
    throw new ServiceError('PERMISSION_DENIED', `The agent ${agent} can only access its own memories.`, {
      details: { reason: 'OTHER_AGENT' },
    });
  }
  const { defaultAgentId } = routing;
  const fallback = AgentId.safeParse(defaultAgentId).success ? defaultAgentId : 'default';
  const resolved = requested ?? agent ?? (canUseAgent(principal, fallback) ? fallback : (principal.agents?.[0] ?? fallback));
  if (canUseAgent(principal, resolved)) return resolved;
  throw new ServiceError('PERMISSION_DENIED', `This token may not use the agent ${resolved}.`, { details: { reason: 'OTHER_AGENT' } });
}
