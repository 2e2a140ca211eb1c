import type { CatalogueEntry } from '@switchyard/models';
import type { MediaDeps } from '../deps/media-deps.ts';
import type { Candidate } from '../providers/provider-chain.ts';

export type VisualKind = 'image' | 'video';

/** Models that are used before the first model of their provider that takes images. */
const PREFERRED: Readonly<Record<string, string>> = { openai: 'gpt-4o' };
/** The only provider that takes videos. */
const VIDEO_PROVIDER = 'google';

export const DEV_VISION: Candidate = { provider: 'dev', modelId: 'vision' };
export const DEV_VIDEO: Candidate = { provider: 'dev', modelId: 'video' };

/**
 * Lists the available models that describe images or videos, the configured default first. The development model answers only while no
 * provider of pictures is available at all.
 */
export async function listDescribers({ settings, models }: Pick<MediaDeps, 'settings' | 'models'>, kind: VisualKind): Promise<Candidate[]> {
  const { providers, defaultProvider, enabled } = settings.current.media.vision;
  if (!enabled) return [];
  const [available, catalogue] = await Promise.all([models.providers(), models.catalogue()]);
  const names = providers.toSorted((one, other) => Number(other === defaultProvider) - Number(one === defaultProvider));
  const found = names.flatMap((provider) => {
    const modelId = available.includes(provider) ? findImageModel(catalogue, provider) : undefined;
    return modelId === undefined ? [] : [{ provider, modelId }];
  });
  if (found.length === 0) return [kind === 'image' ? DEV_VISION : DEV_VIDEO];
  return kind === 'image' ? found : found.filter(({ provider }) => provider === VIDEO_PROVIDER);
}

function findImageModel(catalogue: readonly CatalogueEntry[], provider: string): string | undefined {
  const entries = catalogue.filter((entry) => entry.provider === provider && entry.input.includes('image'));
  return (entries.find(({ modelId }) => modelId === PREFERRED[provider]) ?? entries[0])?.modelId;
}
