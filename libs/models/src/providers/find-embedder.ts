import { BUILT_IN } from '../catalogue/built-in.ts';
import { DEV_PROVIDER } from '../dev/dev-provider.ts';
import type { Offer } from './provider-directory.ts';
import { findModel } from './find-model.ts';
import type { DefaultEmbedder, ModelRef } from '../model/model.ts';
import type { ProviderSettings } from './provider-settings.ts';

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
