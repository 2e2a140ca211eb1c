import { isOauthTokenName } from '@switchyard/contracts';
import { LRUCache } from 'lru-cache';
import type { Adapter } from './model/adapter.ts';
import { createChatAdapter } from './chat/chat-adapter.ts';
import { openOrigins, type Origins } from './http/connection-pool.ts';
import type { ProviderSettings } from './providers/provider-settings.ts';

/** Makes the client of a provider when it is first called; again only when its settings changed, or with another key. */
export interface ProviderClients {
  /** With the key of that name, where it is not the provider's own. */
  adapter(settings: ProviderSettings, key: string | undefined, keyName?: string): Adapter | Promise<Adapter>;
}

/** Clients cached per provider, one for each key. Agents may have keys of their own, and keys are rotated. */
const MAX_CLIENTS_PER_PROVIDER = 32;

/** A wire of a provider's own is loaded with the first provider that has it. */
async function speak(settings: ProviderSettings, key: string | undefined, origins: Origins): Promise<Adapter> {
  const { wire } = settings;
  if (wire === 'chat') return createChatAdapter(settings, key, origins);
  const { createNativeAdapter } = await import('./native/native-adapter.ts');
  return createNativeAdapter({ ...settings, wire }, key, origins);
}

/** The same text may be a key under one name, and a sign-in under another. */
function sentAs(key = '', keyName = ''): string {
  return isOauthTokenName(keyName) ? `Bearer ${key}` : key;
}

export function createProviderClients(): ProviderClients {
  const clients = new WeakMap<ProviderSettings, LRUCache<string, Adapter>>();
  let origins: Promise<Origins> | undefined;

  async function connect(settings: ProviderSettings, key: string | undefined, keyName: string | undefined): Promise<Adapter> {
    // Loaded when first needed: the development models do without.
    origins ??= openOrigins();
    const adapter = await speak({ ...settings, keyName }, key, await origins);
    const ofProvider = clients.get(settings) ?? new LRUCache<string, Adapter>({ max: MAX_CLIENTS_PER_PROVIDER });
    clients.set(settings, ofProvider.set(sentAs(key, keyName), adapter));
    return adapter;
  }

  return {
    adapter: (settings, key, keyName = settings.keyName) =>
      clients.get(settings)?.get(sentAs(key, keyName)) ?? connect(settings, key, keyName),
  };
}
