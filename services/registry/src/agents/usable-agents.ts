import { canUseAgent, type Principal } from '@switchyard/contracts';
import type { Agent, Agents } from './agents.ts';

/** The agents of the caller's tenant that its token may use. */
export async function listUsableAgents(agents: Agents, principal: Principal): Promise<Agent[]> {
  return (await agents.list(principal.tenant)).filter(({ agentId }) => canUseAgent(principal, agentId));
}
