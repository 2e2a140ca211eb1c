import type { Handler } from '@switchyard/bus';
import type { ModelRef, Models } from '@switchyard/models';
import type { ValidatedModels } from '../../models/validated-models.ts';

/** An unknown model or a failed request is a result and not an error. */
export function modelsTest(models: Models, validated: ValidatedModels): Handler<'models.test'> {
  return async ({ model, provider }) => {
    const name = provider === undefined ? model : `${provider}/${model}`;
    const ref = (await models.find(name)) ?? (await listed(models, name));
    if (ref === undefined)
      return { ok: false, latencyMs: 0, provider: provider ?? providerIn(model), error: `no provider has the model ${name}` };
    return { ...(await validated.test(models, ref)), provider: ref.provider };
  };
}

/** The provider of `provider/model`; empty for a bare name. */
function providerIn(model: string): string {
  return model.slice(0, Math.max(0, model.indexOf('/')));
}

/** Finds a catalogue model whose provider is unavailable, so that the test reports the reason. */
async function listed(models: Models, name: string): Promise<ModelRef | undefined> {
  const catalogue = await models.catalogue();
  const slash = name.indexOf('/');
  const provider = name.slice(0, Math.max(0, slash));
  if (provider !== 'dev' && catalogue.some((entry) => entry.provider === provider)) return { provider, modelId: name.slice(slash + 1) };
  const entry = catalogue.find(({ modelId }) => modelId === name);
  return entry && { provider: entry.provider, modelId: entry.modelId };
}
