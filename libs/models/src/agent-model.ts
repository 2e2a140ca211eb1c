import type { ModelRef, Models } from './model.ts';

/** The model an agent means by its `provider` and `model`; undefined when nothing of that name can answer. */
export async function resolveAgentModel(models: Models, agent: { provider: string; model: string }): Promise<ModelRef | undefined> {
  const { provider, model } = agent;
  if (model !== 'default') return models.find(provider === 'default' ? model : `${provider}/${model}`);
  if (provider === 'default') return models.fallback();
  if (!(await models.providers()).includes(provider)) return undefined;
  const first = (await models.catalogue(provider))[0];
  return first === undefined ? undefined : { provider, modelId: first.modelId };
}
