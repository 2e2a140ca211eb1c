import type { AgentConfig } from '@switchyard/contracts';
import type { ModelRef, Models } from '../model/model.ts';

/** The model settings of an agent. */
type AgentModel = Pick<AgentConfig, 'provider' | 'model'> & Partial<Pick<AgentConfig, 'modelRoutes'>>;

/**
 * Resolves the model of an agent from `provider` and `model`; undefined if it is not available. Agents without a model use their
 * default route, else the global default.
 */
export async function resolveAgentModel(models: Models, agent: AgentModel): Promise<ModelRef | undefined> {
  const { provider, modelRoutes } = agent;
  const routed = provider === 'default' && agent.model === 'default' ? modelRoutes?.default : undefined;
  const model = routed ?? agent.model;
  if (model !== 'default') return models.find(provider === 'default' ? model : `${provider}/${model}`);
  if (provider === 'default') return models.fallback();
  if (!(await models.providers()).includes(provider)) return undefined;
  const first = (await models.catalogue(provider))[0];
  return first === undefined ? undefined : { provider, modelId: first.modelId };
}
