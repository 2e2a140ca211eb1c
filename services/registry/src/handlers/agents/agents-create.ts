import type { Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import { inserted } from '@switchyard/store';
import { checkPatch, type CheckPatchDeps } from '../../agents/check-patch.ts';
import { logChange } from '../../agents/log-change.ts';
import { agentNotFound } from '../../agents/agent-not-found.ts';
import { redactConfig } from '../../config/redact-config.ts';
import { deriveAgentId } from '../../agents/agent-id.ts';
import { createPatch } from '../../agents/agent-patch.ts';
import { describeIneffective } from '../../agents/ineffective-fields.ts';
import type { ChangeAgentDeps } from '../../agents/change-agent.ts';

/** Creates an agent whose id is derived from its name. A deleted agent can be created again. */
export function agentsCreate(deps: ChangeAgentDeps & CheckPatchDeps): Handler<'agents.create'> {
  const { agents, collection, store, projector } = deps;
  return async (params, ctx) => {
    const { tenant } = ctx.principal;
    const agentId = deriveAgentId(params.name);
    if (await agents.find(tenant, agentId)) throw agentExists(agentId);
    const patch = createPatch(params);
    const [error] = await checkPatch(deps, { tenant, agentId, patch, preview: agents.preview(tenant, agentId, patch) });
    if (error) throw error;

    const now = store.now();
    const fields = { patch, suspended: false, deletedAt: null, createdAt: now, updatedAt: now };
    const emit = [{ name: 'agent:hot_added', payload: { agentId, timestamp: now } }];
    const documents = collection.for({ tenant });
    const revived = await documents.update({ agentId, deletedAt: { gt: 0 } }, { set: fields, inc: { version: 1 }, emit });
    if (!revived && !(await inserted(() => documents.insert({ agentId, version: 1, ...fields }, { emit })))) throw agentExists(agentId);
    logChange(ctx, agentId, { change: 'created', keys: Object.keys(patch) });
    await projector.refresh(tenant, agentId);

    const agent = await agents.find(tenant, agentId);
    if (agent === undefined) throw agentNotFound(agentId);
    return { agentId, config: redactConfig(agent.written), created: true, ...describeIneffective(agentId, params) };
  };
}

function agentExists(agentId: string): ServiceError {
  return new ServiceError('ALREADY_EXISTS', `The agent ${agentId} already exists.`, { details: { agentId } });
}
