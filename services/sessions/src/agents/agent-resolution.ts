import { canUseAgent, type Principal } from '@switchyard/contracts';
import type { AgentDirectory } from './agent-directory.ts';

/** Returns the agent whose conversations a caller addresses: its own or bound agent, otherwise the default one. */
export function resolveAgentId(agents: AgentDirectory, principal: Pick<Principal, 'tenant' | 'agent' | 'agents'>): string {
  return principal.agent ?? resolveDefaultAgent(agents, principal);
}

/** Returns the agent for requests without one: the default agent, or the first that the caller is restricted to. */
export function resolveDefaultAgent(agents: AgentDirectory, principal: Pick<Principal, 'tenant' | 'agents'>): string {
  const { agentId } = agents.default(principal.tenant);
  return canUseAgent(principal, agentId) ? agentId : (principal.agents?.[0] ?? agentId);
}
