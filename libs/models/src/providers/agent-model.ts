import type { AgentConfig } from '@switchyard/contracts';
import type { ModelRef, Models } from '../model/model.ts';

/** What its configuration says of it. */
type AgentModel = Pick<AgentConfig, 'provider' | 'model'> & Partial<Pick<AgentConfig, 'modelRoutes'>>;

/**
 * The model an agent means by its `provider` and `model`; undefined when nothing of that name can answer. One that names none has that
 * of its default route, else that of the house.
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
