import type { Sections } from '@switchyard/contracts';
import { DEV_PROVIDER, devCatalogue } from '../dev/dev-provider.ts';
import { isKeyOriginError, type KeyCache, type KeyRef } from './key-cache.ts';
import type { CatalogueEntry } from '../model/model.ts';
import { providerSettings, type ProviderSettings } from './provider-settings.ts';

type ModelSettings = Readonly<Pick<Sections, 'models' | 'providers' | 'security'>>;

/** The models and providers that are available with the current configuration and keys. The object is reused until something changes. */
export interface AvailableModels {
  models: ModelSettings['models'];
  /** Available providers: they have an address, and a key unless they need none. */
  reachableProviders: readonly ProviderSettings[];
  /** The ids of available providers, and `dev` if there is no other or `models.dev` is true. */
  providers: readonly string[];
  /** All known models, also of unavailable providers. Development models are included only while available. */
  catalogue: readonly CatalogueEntry[];
}

/** The configured providers and the available models. */
export interface ProviderDirectory {
  configured(): ReadonlyMap<string, ProviderSettings>;
  offer(): Promise<AvailableModels>;
}

export interface ProviderDirectoryOptions {
  /** Returns the current settings. All sections belong to one revision. */
  settings: () => ModelSettings;
  env: Readonly<Record<string, string | undefined>>;
  keys: KeyCache;
}

/** The providers of one revision of the settings. */
interface Revision {
  of: Sections['providers'];
  hosts: readonly string[];
  all: Map<string, ProviderSettings>;
}

/** The cached result and the inputs it was built from. */
interface CachedModels {
  offer: AvailableModels;
  configured: ReadonlyMap<string, ProviderSettings>;
  keys: readonly KeyRef[];
}

export function createProviderDirectory({ settings, env, keys }: ProviderDirectoryOptions): ProviderDirectory {
  let revision: Revision | undefined;
  let cached: CachedModels | undefined;

  function configured(): ReadonlyMap<string, ProviderSettings> {
    const { providers, security } = settings();
    const hosts = security.permission.allowedNetHosts;
    if (revision?.of !== providers || revision.hosts !== hosts)
      revision = { of: providers, hosts, all: providerSettings(providers, { env, hosts }) };
    return revision.all;
  }

  /** Returns whether the key exists. A key that is bound to another origin counts as absent. */
  async function hasKey(one: ProviderSettings): Promise<boolean> {
    try {
      return (await keys.get(one)) !== undefined;
    } catch (error) {
      if (isKeyOriginError(error)) return false;
      throw error;
    }
  }

  async function offer(): Promise<AvailableModels> {
    const { models } = settings();
    const all = configured();
    const current = cached?.configured === all && cached.offer.models === models ? cached : undefined;
    if (current !== undefined && keys.cachedUntil(current.keys) > Date.now()) return current.offer;
    const reachable = [...all.values()].filter(
      ({ baseUrl, keyRefusal, hostRefusal }) => baseUrl !== '' && (keyRefusal ?? hostRefusal) === undefined,
    );
    const keyRefs = reachable.filter(({ keyOptional }) => !keyOptional);
    const hasAccess = await Promise.all(reachable.map(async (one) => one.keyOptional || (await hasKey(one))));
    const reachableProviders = reachable.filter((_, index) => hasAccess[index]);
    const same = current !== undefined && sameItems(current.offer.reachableProviders, reachableProviders);
    cached = { offer: same ? current.offer : buildAvailableModels(models, all, reachableProviders), configured: all, keys: keyRefs };
    return cached.offer;
  }

  return { configured, offer };
}

function buildAvailableModels(
  models: AvailableModels['models'],
  all: ReadonlyMap<string, ProviderSettings>,
  reachableProviders: readonly ProviderSettings[],
): AvailableModels {
  const dev = reachableProviders.length === 0 || models.dev === true;
  return {
    models,
    reachableProviders,
    providers: [...reachableProviders.map(({ id }) => id), ...(dev ? [DEV_PROVIDER] : [])],
    catalogue: [...[...all.values()].flatMap((one) => one.catalogue), ...(dev ? devCatalogue : [])],
  };
}

function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}
