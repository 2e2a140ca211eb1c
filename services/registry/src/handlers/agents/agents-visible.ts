import type { Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import { resolveAgentModel, type ModelRef, type Models } from '@switchyard/models';
import type { Agent, Agents } from '../../agents/agents.ts';
import { listUsableAgents } from '../../agents/usable-agents.ts';

/** Lists each agent with its resolved model, or with the configured model if it cannot be resolved. */
export function agentsVisible(agents: Agents, models: Models): Handler<'agents.visible'> {
  return async (_, ctx) => ({
    agents: await Promise.all((await listUsableAgents(agents, ctx.principal)).map((agent) => describeAgent(agent, models))),
  });
}

async function describeAgent({ agentId, config, written, suspended }: Agent, models: Models) {
  const ref = await resolveModel(models, config);
  return {
    id: agentId,
    name: written.name,
    provider: ref?.provider ?? config.provider,
    model: ref?.modelId ?? config.model,
    status: suspended ? ('suspended' as const) : ('active' as const),
  };
}

async function resolveModel(models: Models, config: Agent['config']): Promise<ModelRef | undefined> {
  try {
    return await resolveAgentModel(models, config);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'FAILED_PRECONDITION') return undefined;
    throw error;
  }
}
