import type { Sections } from '@switchyard/contracts';
import { DEV_PROVIDER, devCatalogue } from './dev/dev-provider.ts';
import type { Keys } from './keys.ts';
import type { CatalogueEntry } from './model.ts';
import { providerSettings, type ProviderSettings } from './provider-settings.ts';

type ModelSettings = Readonly<Pick<Sections, 'models' | 'providers'>>;

/** The providers of the configuration as it is now, and what they offer. */
export interface Directory {
  /** Read anew at each use: one revision belongs together. */
  settings(): ModelSettings;
  configured(): ReadonlyMap<string, ProviderSettings>;
  /** Those that could be called now: they have an address, and their key or no need of one. */
  answering(): Promise<ProviderSettings[]>;
  /** Their ids, and `dev` while there is no other or `models.dev` is true. */
  providers(): Promise<string[]>;
  catalogue(provider?: string): Promise<CatalogueEntry[]>;
}

export interface DirectoryOptions {
  settings: () => ModelSettings;
  env: Readonly<Record<string, string | undefined>>;
  keys: Keys;
}

export function createDirectory({ settings, env, keys }: DirectoryOptions): Directory {
  let revision: { of: Sections['providers']; all: Map<string, ProviderSettings> } | undefined;

  function configured(): ReadonlyMap<string, ProviderSettings> {
    const { providers } = settings();
    if (revision?.of !== providers) revision = { of: providers, all: providerSettings(providers, env) };
    return revision.all;
  }

  async function answering(): Promise<ProviderSettings[]> {
    const all = [...configured().values()].filter(({ baseUrl }) => baseUrl !== '');
    const able = await Promise.all(all.map(async (one) => one.keyOptional || (await keys.get(one.keyName)) !== undefined));
    return all.filter((_, index) => able[index]);
  }

  async function providers(): Promise<string[]> {
    const real = await answering();
    const dev = real.length === 0 || settings().models.dev === true;
    return [...real.map(({ id }) => id), ...(dev ? [DEV_PROVIDER] : [])];
  }

  async function catalogue(provider?: string): Promise<CatalogueEntry[]> {
    const dev = (await providers()).includes(DEV_PROVIDER) ? devCatalogue : [];
    const all = [...[...configured().values()].flatMap((one) => one.catalogue), ...dev];
    return provider === undefined ? all : all.filter((entry) => entry.provider === provider);
  }

  return { settings, configured, answering, providers, catalogue };
}
