import type { Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import { logChange } from '../../agents/log-change.ts';
import { changeAgent, type ChangeAgentDeps } from '../../agents/change-agent.ts';

/** Leaves a tombstone, so that an agent from a file stays deleted after a restart. */
export function agentsDelete(deps: ChangeAgentDeps): Handler<'agents.delete'> {
  return async ({ agentId }, ctx) => {
    const { tenant } = ctx.principal;
    await changeAgent(deps, { tenant, agentId }, ({ isDefault }) => {
      if (isDefault)
        throw new ServiceError('FAILED_PRECONDITION', `the default agent ${agentId} cannot be deleted`, {
          details: { reason: 'DEFAULT_AGENT' },
        });
      const timestamp = deps.store.now();
      return { patch: {}, suspended: false, deletedAt: timestamp, emit: [{ name: 'agent:hot_removed', payload: { agentId, timestamp } }] };
    });
    logChange(ctx, agentId, { change: 'deleted' });
    return { agentId, deleted: true };
  };
}
