import type { Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import { logChange } from '../../agents/log-change.ts';
import { changeAgent, type ChangeAgentDeps } from '../../agents/change-agent.ts';

/** The suspension is stored and survives a restart. */
export function agentsSuspend(deps: ChangeAgentDeps): Handler<'agents.suspend'> {
  return async ({ agentId }, ctx) => {
    const { tenant } = ctx.principal;
    await changeAgent(deps, { tenant, agentId }, ({ suspended }) => {
      if (suspended)
        throw new ServiceError('FAILED_PRECONDITION', `agent ${agentId} is already suspended`, { details: { reason: 'AGENT_SUSPENDED' } });
      return { suspended: true };
    });
    logChange(ctx, agentId, { change: 'suspended' });
    return { agentId, suspended: true };
  };
}
