import type { Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import { inserted } from '@switchyard/store';
import { checkPatch, type PatchGiven } from '../../agents/check-patch.ts';
import { logChange } from '../../agents/log-change.ts';
import { noAgent } from '../../agents/agent-not-found.ts';
import { shownConfig } from '../../config/redact-config.ts';
import { slugOf } from '../../agents/agent-id.ts';
import { toPatch } from '../../agents/agent-patch.ts';
import { withoutEffect } from '../../agents/ineffective-fields.ts';
import type { WriteGiven } from '../../agents/change-agent.ts';

/** Creates an agent whose id is derived from its name. A deleted agent can be created again. */
export function agentsCreate(given: WriteGiven & PatchGiven): Handler<'agents.create'> {
  const { agents, collection, store, projector } = given;
  return async (params, ctx) => {
    const { tenant } = ctx.principal;
    const agentId = slugOf(params.name);
    if (await agents.find(tenant, agentId)) throw taken(agentId);
    const patch = toPatch(params);
    const [refused] = await checkPatch(given, { tenant, agentId, patch, preview: agents.preview(tenant, agentId, patch) });
    if (refused) throw refused;

    const now = store.now();
    const fresh = { patch, suspended: false, deletedAt: null, createdAt: now, updatedAt: now };
    const emit = [{ name: 'agent:hot_added', payload: { agentId, timestamp: now } }];
    const documents = collection.for({ tenant });
    const revived = await documents.update({ agentId, deletedAt: { gt: 0 } }, { set: fresh, inc: { version: 1 }, emit });
    if (!revived && !(await inserted(() => documents.insert({ agentId, version: 1, ...fresh }, { emit })))) throw taken(agentId);
    logChange(ctx, agentId, { change: 'created', keys: Object.keys(patch) });
    await projector.refresh(tenant, agentId);

    const agent = await agents.find(tenant, agentId);
    if (agent === undefined) throw noAgent(agentId);
    return { agentId, config: shownConfig(agent.written), created: true, ...withoutEffect(agentId, params) };
  };
}

function taken(agentId: string): ServiceError {
  return new ServiceError('ALREADY_EXISTS', `The agent ${agentId} already exists.`, { details: { agentId } });
}
