import { isOauthTokenName } from '@switchyard/contracts';
import { LRUCache } from 'lru-cache';
import type { Adapter } from './model/adapter.ts';
import { createChatAdapter } from './chat/chat-adapter.ts';
import { openConnectionPool, type ConnectionPool } from './http/connection-pool.ts';
import type { ProviderSettings } from './providers/provider-settings.ts';

/** Caches adapters. An adapter is created on the first call and for changed settings or another key. */
export interface ProviderClients {
  /** Returns the adapter of a provider. `keyName` defaults to the provider's key. */
  adapter(settings: ProviderSettings, key: string | undefined, keyName?: string): Adapter | Promise<Adapter>;
}

/** Clients cached per provider, one for each key. Agents may have keys of their own, and keys are rotated. */
const MAX_CLIENTS_PER_PROVIDER = 32;

/** Creates an adapter. The library of a native API is loaded with the first provider that uses it. */
async function createAdapter(settings: ProviderSettings, key: string | undefined, origins: ConnectionPool): Promise<Adapter> {
  const { protocol } = settings;
  if (protocol === 'chat') return createChatAdapter(settings, key, origins);
  const { createNativeAdapter } = await import('./native/native-adapter.ts');
  return createNativeAdapter({ ...settings, protocol }, key, origins);
}

/** Formats the credential as sent: the same text can be an API key under one name and an OAuth token under another. */
function formatCredential(key = '', keyName = ''): string {
  return isOauthTokenName(keyName) ? `Bearer ${key}` : key;
}

/** `allowHosts` lists hosts whose addresses are not checked. */
export function createProviderClients(allowHosts?: () => readonly string[]): ProviderClients {
  const clients = new WeakMap<ProviderSettings, LRUCache<string, Adapter>>();
  let origins: Promise<ConnectionPool> | undefined;

  async function connect(settings: ProviderSettings, key: string | undefined, keyName: string | undefined): Promise<Adapter> {
    // The HTTP client is loaded on first use, because the development models do not need it.
    origins ??= openConnectionPool(undefined, allowHosts);
    const adapter = await createAdapter({ ...settings, keyName }, key, await origins);
    const adapters = clients.get(settings) ?? new LRUCache<string, Adapter>({ max: MAX_CLIENTS_PER_PROVIDER });
    clients.set(settings, adapters.set(formatCredential(key, keyName), adapter));
    return adapter;
  }

  return {
    adapter: (settings, key, keyName = settings.keyName) =>
      clients.get(settings)?.get(formatCredential(key, keyName)) ?? connect(settings, key, keyName),
  };
}
