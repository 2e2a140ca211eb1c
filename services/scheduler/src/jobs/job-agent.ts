import { canUseAgent, ServiceError, type Principal } from '@switchyard/contracts';
import type { AgentDirectory } from '@switchyard/service-kit';

/** Returns the agent of a new job: the requested one, that of the caller, or the default one. */
export function resolveJobAgent(agents: AgentDirectory, principal: Principal, requested: string | undefined): string {
  const agentId = requested ?? principal.agent ?? resolveDefaultAgent(agents, principal);
  // An agent that the caller may not use is reported like one that does not exist.
  if (canUseAgent(principal, agentId) && agents.find(principal.tenant, agentId)) return agentId;
  throw new ServiceError('INVALID_ARGUMENT', `The agent ${agentId} does not exist. agents.list returns all agents.`, {
    details: { reason: 'AGENT_NOT_FOUND', agentId },
  });
}

function resolveDefaultAgent(agents: AgentDirectory, principal: Principal): string {
  const { agentId } = agents.default(principal.tenant);
  return canUseAgent(principal, agentId) ? agentId : (principal.agents?.[0] ?? agentId);
}
