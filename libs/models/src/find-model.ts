import { DEV_MODELS, DEV_PROVIDER } from './dev/dev-provider.ts';
import type { Directory } from './directory.ts';
import { notConfigured } from './failure.ts';
import type { ModelRef } from './model.ts';

/**
 * An alias, `provider/model`, or a bare id of the catalogue. Of a real provider any model id is taken at its word: new
 * models come faster than catalogues, and the provider itself says when it does not know one.
 */
export async function findModel(directory: Directory, name: string): Promise<ModelRef | undefined> {
  const visible = await directory.providers();
  const alias = directory.settings().models.aliases.find((one) => one.alias === name);
  if (alias !== undefined) return visible.includes(alias.provider) ? { provider: alias.provider, modelId: alias.modelId } : undefined;
  const slash = name.indexOf('/');
  const [provider, modelId] = [name.slice(0, Math.max(0, slash)), name.slice(slash + 1)];
  if (modelId !== '' && visible.includes(provider))
    return provider !== DEV_PROVIDER || isDevModel(modelId) ? { provider, modelId } : undefined;
  const entry = (await directory.catalogue()).find((one) => one.modelId === name && visible.includes(one.provider));
  return entry === undefined ? undefined : { provider: entry.provider, modelId: entry.modelId };
}

/** What the configuration says, else the first model of the first provider that can answer, else dev/echo. */
export async function fallbackModel(directory: Directory): Promise<ModelRef> {
  const { defaultModel, defaultProvider } = directory.settings().models;
  if (defaultModel !== '') {
    const name = defaultProvider === '' ? defaultModel : `${defaultProvider}/${defaultModel}`;
    const found = await findModel(directory, name);
    if (found === undefined)
      throw notConfigured('DEFAULT_MODEL_NOT_FOUND', `no provider that can answer has models.defaultModel (${name})`);
    return found;
  }
  if (defaultProvider !== '') return firstOf(directory, defaultProvider);
  const real = await directory.answering();
  const first = real.find(({ catalogue }) => catalogue.length > 0) ?? real[0];
  return first === undefined ? { provider: DEV_PROVIDER, modelId: 'echo' } : firstOf(directory, first.id);
}

/** The default model of one provider: the first it lists. */
async function firstOf(directory: Directory, provider: string): Promise<ModelRef> {
  if (!(await directory.providers()).includes(provider)) {
    throw notConfigured('DEFAULT_MODEL_NOT_FOUND', `models.defaultProvider (${provider}) cannot answer`);
  }
  const [entry] = await directory.catalogue(provider);
  if (entry === undefined) throw notConfigured('NO_DEFAULT_MODEL', `provider ${provider} lists no models: set models.defaultModel`);
  return { provider, modelId: entry.modelId };
}

function isDevModel(modelId: string): boolean {
  return (DEV_MODELS as readonly string[]).includes(modelId);
}
