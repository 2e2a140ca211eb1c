import { DEV_MODELS, DEV_PROVIDER } from '../dev/dev-provider.ts';
import type { Offer } from './provider-directory.ts';
import { notConfigured } from '../errors/provider-errors.ts';
import type { DefaultEmbedder, ModelRef } from '../model/model.ts';
import { BUILT_IN } from '../catalogue/built-in.ts';
import type { ProviderSettings } from './provider-settings.ts';

/**
 * An alias, `provider/model`, or a bare id of the catalogue. Of a real provider any model id is taken at its word: new
 * models come faster than catalogues, and the provider itself says when it does not know one.
 */
export function findModel({ models, providers, catalogue }: Offer, name: string): ModelRef | undefined {
  const alias = models.aliases.find((one) => one.alias === name);
  if (alias !== undefined) return providers.includes(alias.provider) ? { provider: alias.provider, modelId: alias.modelId } : undefined;
  const slash = name.indexOf('/');
  const [provider, modelId] = [name.slice(0, Math.max(0, slash)), name.slice(slash + 1)];
  if (modelId !== '' && providers.includes(provider))
    return provider !== DEV_PROVIDER || isDevModel(modelId) ? { provider, modelId } : undefined;
  const entry = catalogue.find((one) => one.modelId === name && providers.includes(one.provider));
  return entry === undefined ? undefined : { provider: entry.provider, modelId: entry.modelId };
}

/** What the configuration says, else the first model of the first provider that can answer, else dev/echo. */
export function fallbackModel(offer: Offer): ModelRef {
  const { defaultModel, defaultProvider } = offer.models;
  if (defaultModel !== '') {
    const name = defaultProvider === '' ? defaultModel : `${defaultProvider}/${defaultModel}`;
    const found = findModel(offer, name);
    if (found === undefined)
      throw notConfigured('DEFAULT_MODEL_NOT_FOUND', `no provider that can answer has models.defaultModel (${name})`);
    return found;
  }
  if (defaultProvider !== '') return firstOf(offer, defaultProvider);
  const { answering } = offer;
  const first = answering.find(({ catalogue }) => catalogue.length > 0) ?? answering[0];
  return first === undefined ? { provider: DEV_PROVIDER, modelId: 'echo' } : firstOf(offer, first.id);
}

/** The default model of one provider: the first it lists. */
function firstOf({ providers, catalogue }: Offer, provider: string): ModelRef {
  if (!providers.includes(provider)) {
    throw notConfigured('DEFAULT_MODEL_NOT_FOUND', `models.defaultProvider (${provider}) cannot answer`);
  }
  const entry = catalogue.find((one) => one.provider === provider);
  if (entry === undefined) throw notConfigured('NO_DEFAULT_MODEL', `provider ${provider} lists no models: set models.defaultModel`);
  return { provider, modelId: entry.modelId };
}

function isDevModel(modelId: string): boolean {
  return (DEV_MODELS as readonly string[]).includes(modelId);
}

/** Asked first where any provider may be: it is who most clients mean by a bare name. */
const FIRST = 'openai';

/** See `Models.embedder`. What a provider calls its models is taken at its word: it says itself when it does not know one. */
export function findEmbedder(offer: Offer, name: string, standard: DefaultEmbedder): ModelRef | undefined {
  const able = offer.answering.filter(embeds);
  const named = findModel(offer, name);
  if (named !== undefined && named.provider !== DEV_PROVIDER && able.some(({ id }) => id === named.provider)) return named;
  const provider = standardOf(able, standard);
  return provider === undefined ? undefined : { provider: provider.id, modelId: name };
}

/** Whoever speaks the protocol is taken to have the route; of those we know by name some have not. */
function embeds({ id, baseUrl }: ProviderSettings): boolean {
  const builtIn = BUILT_IN[id];
  return builtIn === undefined || builtIn.baseUrl !== baseUrl || builtIn.embeds === true;
}

function standardOf(able: readonly ProviderSettings[], standard: DefaultEmbedder): ProviderSettings | undefined {
  if (standard === 'none') return undefined;
  if (standard === 'any') return able.find(({ id }) => id === FIRST) ?? able[0];
  return able.find(({ id }) => id === standard.provider);
}
