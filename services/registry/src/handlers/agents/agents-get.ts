import type { Handler } from '@switchyard/bus';
import { getVersion, type Agents } from '../../agents/agents.ts';
import { agentNotFound } from '../../agents/agent-not-found.ts';
import { redactConfig } from '../../config/redact-config.ts';

export function agentsGet(agents: Agents): Handler<'agents.get'> {
  return async ({ agentId }, ctx) => {
    const agent = await agents.find(ctx.principal.tenant, agentId);
    if (agent === undefined) throw agentNotFound(agentId);
    const { written, suspended, isDefault } = agent;
    return { agentId, config: redactConfig(written), suspended, isDefault, version: getVersion(agent) };
  };
}
