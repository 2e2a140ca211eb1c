import { canUseAgent, type Principal } from '@switchyard/contracts';
import type { Agent, Agents } from './agents.ts';

/** The agents of the caller's tenant, and of those the ones that its token is held to. */
export async function usableBy(agents: Agents, principal: Principal): Promise<Agent[]> {
  return (await agents.list(principal.tenant)).filter(({ agentId }) => canUseAgent(principal, agentId));
}
