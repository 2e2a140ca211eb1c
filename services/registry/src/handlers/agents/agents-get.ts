import type { Handler } from '@switchyard/bus';
import type { Agents } from '../../agents/agents.ts';
import { noAgent } from '../../agents/agent-not-found.ts';
import { shownConfig } from '../../config/redact-config.ts';

export function agentsGet(agents: Agents): Handler<'agents.get'> {
  return async ({ agentId }, ctx) => {
    const agent = await agents.find(ctx.principal.tenant, agentId);
    if (agent === undefined) throw noAgent(agentId);
    return { agentId, config: shownConfig(agent.written), suspended: agent.suspended, isDefault: agent.isDefault };
  };
}
