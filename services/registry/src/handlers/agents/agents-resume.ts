import type { Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import { logChange } from '../../agents/log-change.ts';
import { changeAgent, type ChangeAgentDeps } from '../../agents/change-agent.ts';

export function agentsResume(deps: ChangeAgentDeps): Handler<'agents.resume'> {
  return async ({ agentId }, ctx) => {
    const { tenant } = ctx.principal;
    await changeAgent(deps, { tenant, agentId }, ({ suspended }) => {
      if (!suspended)
        throw new ServiceError('FAILED_PRECONDITION', `agent ${agentId} is not suspended`, { details: { reason: 'AGENT_ACTIVE' } });
      return { suspended: false };
    });
    logChange(ctx, agentId, { change: 'resumed' });
    return { agentId, resumed: true };
  };
}
