import type { Principal } from '@switchyard/contracts';
import type { AgentDirectory } from '../agents.ts';

/** Whose conversations a caller means: those of the agent that it is or is bound to, else of the default one. */
export function agentOf(agents: AgentDirectory, { tenant, agent }: Pick<Principal, 'tenant' | 'agent'>): string {
  return agent ?? agents.default(tenant).agentId;
}
