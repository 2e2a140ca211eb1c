import type { Sections } from '@switchyard/contracts';
import { DEV_PROVIDER, devCatalogue } from '../dev/dev-provider.ts';
import { isBoundElsewhere, type Keys, type WantedKey } from './key-cache.ts';
import type { CatalogueEntry } from '../model/model.ts';
import { providerSettings, type ProviderSettings } from './provider-settings.ts';

type ModelSettings = Readonly<Pick<Sections, 'models' | 'providers' | 'security'>>;

/** What one revision of the configuration offers with the keys there are. The same object for as long as nothing of it changes. */
export interface Offer {
  models: ModelSettings['models'];
  /** Those that could be called now: they have an address, and their key or no need of one. */
  answering: readonly ProviderSettings[];
  /** Their ids, and `dev` while there is no other or `models.dev` is true. */
  providers: readonly string[];
  /** What is known, whether its provider can answer or not; of the development models only while they can. */
  catalogue: readonly CatalogueEntry[];
}

/** The providers of the configuration as it is now, and what they offer. */
export interface Directory {
  configured(): ReadonlyMap<string, ProviderSettings>;
  offer(): Promise<Offer>;
}

export interface DirectoryOptions {
  /** Read anew at each use: one revision belongs together. */
  settings: () => ModelSettings;
  env: Readonly<Record<string, string | undefined>>;
  keys: Keys;
}

/** The providers as they are made of one revision of the settings. */
interface Revision {
  of: Sections['providers'];
  hosts: readonly string[];
  all: Map<string, ProviderSettings>;
}

/** An offer, what it was made from, and until when it need not be looked at again. */
interface Made {
  offer: Offer;
  configured: ReadonlyMap<string, ProviderSettings>;
  keys: readonly WantedKey[];
}

export function createDirectory({ settings, env, keys }: DirectoryOptions): Directory {
  let revision: Revision | undefined;
  let made: Made | undefined;

  function configured(): ReadonlyMap<string, ProviderSettings> {
    const { providers, security } = settings();
    const hosts = security.permission.allowedNetHosts;
    if (revision?.of !== providers || revision.hosts !== hosts)
      revision = { of: providers, hosts, all: providerSettings(providers, { env, hosts }) };
    return revision.all;
  }

  /** A key that is kept for another address is none here, and no reason why others should not answer. */
  async function has(one: ProviderSettings): Promise<boolean> {
    try {
      return (await keys.get(one)) !== undefined;
    } catch (error) {
      if (isBoundElsewhere(error)) return false;
      throw error;
    }
  }

  async function offer(): Promise<Offer> {
    const { models } = settings();
    const all = configured();
    const current = made?.configured === all && made.offer.models === models ? made : undefined;
    if (current !== undefined && keys.until(current.keys) > Date.now()) return current.offer;
    const placed = [...all.values()].filter(
      ({ baseUrl, keyRefusal, hostRefusal }) => baseUrl !== '' && (keyRefusal ?? hostRefusal) === undefined,
    );
    const guarded = placed.filter(({ keyOptional }) => !keyOptional);
    const able = await Promise.all(placed.map(async (one) => one.keyOptional || (await has(one))));
    const answering = placed.filter((_, index) => able[index]);
    const same = current !== undefined && sameItems(current.offer.answering, answering);
    made = { offer: same ? current.offer : offerOf(models, all, answering), configured: all, keys: guarded };
    return made.offer;
  }

  return { configured, offer };
}

function offerOf(models: Offer['models'], all: ReadonlyMap<string, ProviderSettings>, answering: readonly ProviderSettings[]): Offer {
  const dev = answering.length === 0 || models.dev === true;
  return {
    models,
    answering,
    providers: [...answering.map(({ id }) => id), ...(dev ? [DEV_PROVIDER] : [])],
    catalogue: [...[...all.values()].flatMap((one) => one.catalogue), ...(dev ? devCatalogue : [])],
  };
}

function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}
