import type { Handler } from '@switchyard/bus';
import type { Agents } from '../../agents/agents.ts';

export function agentsList(agents: Agents): Handler<'agents.list'> {
  return async (_, ctx) => ({ agents: (await agents.list(ctx.principal.tenant)).map(({ agentId }) => agentId) });
}
