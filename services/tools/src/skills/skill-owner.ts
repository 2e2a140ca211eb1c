import { canUseAgent, ServiceError, type Principal } from '@switchyard/contracts';
import type { AgentDirectory } from '@switchyard/service-kit';

/** Owner of the skills that every agent of the tenant has. */
export const SHARED_OWNER = '*';

/** Returns the agent that a call is about: the given one, the calling one, the default agent, or the first that the token may use. */
export function resolveAgent(
  agents: Pick<AgentDirectory, 'find' | 'default'>,
  principal: Principal,
  requested: string | undefined,
): string {
  const { tenant, agent } = principal;
  if (agent !== undefined && requested !== undefined && requested !== agent)
    throw new ServiceError('PERMISSION_DENIED', `The agent ${agent} can only use its own skills.`, { details: { reason: 'OTHER_AGENT' } });
  const { agentId: fallback } = agents.default(tenant);
  const agentId = requested ?? agent ?? (canUseAgent(principal, fallback) ? fallback : (principal.agents?.[0] ?? fallback));
  if (!canUseAgent(principal, agentId))
    throw new ServiceError('PERMISSION_DENIED', `This token may not use the agent ${agentId}.`, { details: { reason: 'OTHER_AGENT' } });
  if (!agents.find(tenant, agentId))
    throw new ServiceError('NOT_FOUND', `The agent ${agentId} does not exist. agents.list returns all agents.`);
  return agentId;
}

interface Place {
  scope: 'local' | 'shared';
  agentId?: string | undefined;
}

/** Returns the owner of a skill that is written. Only the default agent, with a token for all agents, may share skills. */
export function resolveOwner(agents: Pick<AgentDirectory, 'find' | 'default'>, principal: Principal, { scope, agentId }: Place): string {
  const agent = resolveAgent(agents, principal, agentId);
  if (scope === 'local') return agent;
  const { agentId: defaultAgent } = agents.default(principal.tenant);
  if (principal.agents !== undefined)
    throw new ServiceError('PERMISSION_DENIED', 'scope: only a token for all agents may share skills.', {
      details: { reason: 'OTHER_AGENT' },
    });
  if (agent === defaultAgent) return SHARED_OWNER;
  throw new ServiceError('PERMISSION_DENIED', `scope: only the default agent ${defaultAgent} may share skills, got the agent ${agent}.`, {
    details: { reason: 'NOT_DEFAULT_AGENT' },
  });
}
