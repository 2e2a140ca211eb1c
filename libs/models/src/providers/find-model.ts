import { DEV_MODELS, DEV_PROVIDER } from '../dev/dev-provider.ts';
import type { AvailableModels } from './provider-directory.ts';
import { notConfigured } from '../errors/provider-errors.ts';
import type { DefaultEmbedder, ModelRef } from '../model/model.ts';
import { BUILT_IN } from '../catalogue/built-in.ts';
import type { ProviderSettings } from './provider-settings.ts';

/**
 * Resolves an alias, `provider/model`, or a bare id of the catalogue. Any model id of a real provider is accepted, because new models
 * appear before catalogues list them, and the provider rejects unknown ids.
 */
export function findModel({ models, providers, catalogue }: AvailableModels, name: string): ModelRef | undefined {
  const alias = models.aliases.find((one) => one.alias === name);
  if (alias !== undefined) return providers.includes(alias.provider) ? { provider: alias.provider, modelId: alias.modelId } : undefined;
  const slash = name.indexOf('/');
  const [provider, modelId] = [name.slice(0, Math.max(0, slash)), name.slice(slash + 1)];
  if (modelId !== '' && providers.includes(provider))
    return provider !== DEV_PROVIDER || isDevModel(modelId) ? { provider, modelId } : undefined;
  const entry = catalogue.find((one) => one.modelId === name && providers.includes(one.provider));
  return entry === undefined ? undefined : { provider: entry.provider, modelId: entry.modelId };
}

/** Returns the configured default model, else the first model of the first available provider, else dev/echo. */
export function fallbackModel(available: AvailableModels): ModelRef {
  const { defaultModel, defaultProvider } = available.models;
  if (defaultModel !== '') {
    const name = defaultProvider === '' ? defaultModel : `${defaultProvider}/${defaultModel}`;
    const found = findModel(available, name);
    if (found === undefined) throw notConfigured('DEFAULT_MODEL_NOT_FOUND', `no available provider has models.defaultModel (${name})`);
    return found;
  }
  if (defaultProvider !== '') return getFirstModel(available, defaultProvider);
  const { reachableProviders: answering } = available;
  const first = answering.find(({ catalogue }) => catalogue.length > 0) ?? answering[0];
  return first === undefined ? { provider: DEV_PROVIDER, modelId: 'echo' } : getFirstModel(available, first.id);
}

/** Returns the first listed model of a provider. */
function getFirstModel({ providers, catalogue }: AvailableModels, provider: string): ModelRef {
  if (!providers.includes(provider)) {
    throw notConfigured('DEFAULT_MODEL_NOT_FOUND', `models.defaultProvider (${provider}) is not available`);
  }
  const entry = catalogue.find((one) => one.provider === provider);
  if (entry === undefined) throw notConfigured('NO_DEFAULT_MODEL', `provider ${provider} lists no models: set models.defaultModel`);
  return { provider, modelId: entry.modelId };
}

function isDevModel(modelId: string): boolean {
  return (DEV_MODELS as readonly string[]).includes(modelId);
}

/** The preferred provider for bare names, which most clients expect. */
const PREFERRED_PROVIDER = 'openai';

/** Resolves an embedding model, see `Models.embedder`. Unknown ids are passed on, because the provider rejects them. */
export function findEmbedder(available: AvailableModels, name: string, defaultProvider: DefaultEmbedder): ModelRef | undefined {
  const embedders = available.reachableProviders.filter(supportsEmbeddings);
  const named = findModel(available, name);
  if (named !== undefined && named.provider !== DEV_PROVIDER && embedders.some(({ id }) => id === named.provider)) return named;
  const provider = resolveDefaultEmbedder(embedders, defaultProvider);
  return provider === undefined ? undefined : { provider: provider.id, modelId: name };
}

/** Returns whether a provider has an embeddings route. Custom providers are assumed to have one. */
function supportsEmbeddings({ id, baseUrl }: ProviderSettings): boolean {
  const builtIn = BUILT_IN[id];
  return builtIn === undefined || builtIn.baseUrl !== baseUrl || builtIn.embeds === true;
}

function resolveDefaultEmbedder(embedders: readonly ProviderSettings[], defaultProvider: DefaultEmbedder): ProviderSettings | undefined {
  if (defaultProvider === 'none') return undefined;
  if (defaultProvider === 'any') return embedders.find(({ id }) => id === PREFERRED_PROVIDER) ?? embedders[0];
  return embedders.find(({ id }) => id === defaultProvider.provider);
}
