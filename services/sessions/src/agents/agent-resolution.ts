import { canUseAgent, type Principal } from '@switchyard/contracts';
import type { AgentDirectory } from './agent-directory.ts';

/** Whose conversations a caller means: those of the agent that it is or is bound to, else of the default one. */
export function resolveAgentId(agents: AgentDirectory, principal: Pick<Principal, 'tenant' | 'agent' | 'agents'>): string {
  return principal.agent ?? resolveDefaultAgent(agents, principal);
}

/** Who answers where no agent is named: the default one, or the first of those that the caller is held to. */
export function resolveDefaultAgent(agents: AgentDirectory, principal: Pick<Principal, 'tenant' | 'agents'>): string {
  const { agentId } = agents.default(principal.tenant);
  return canUseAgent(principal, agentId) ? agentId : (principal.agents?.[0] ?? agentId);
}
