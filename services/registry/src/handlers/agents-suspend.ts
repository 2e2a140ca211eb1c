import type { Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import { changeAgent, type WriteGiven } from '../agents/write-agent.ts';

/** Stored, so that a suspended agent is still suspended after a restart. */
export function agentsSuspend(given: WriteGiven): Handler<'agents.suspend'> {
  return async ({ agentId }, ctx) => {
    const { tenant } = ctx.principal;
    await changeAgent(given, { tenant, agentId }, ({ suspended }) => {
      if (suspended)
        throw new ServiceError('FAILED_PRECONDITION', `agent ${agentId} is suspended already`, { details: { reason: 'AGENT_SUSPENDED' } });
      return { suspended: true };
    });
    return { agentId, suspended: true };
  };
}
