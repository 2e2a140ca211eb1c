import type { Adapter } from './adapter.ts';
import { createChatAdapter } from './chat/chat-adapter.ts';
import { openOrigins, type Origins } from './chat/origins.ts';
import type { ProviderSettings } from './provider-settings.ts';

/** Makes the client of a provider when it is first called; again only when its settings or its key changed. */
export interface ProviderClients {
  adapter(settings: ProviderSettings, key: string | undefined): Adapter | Promise<Adapter>;
}

interface Client {
  key: string | undefined;
  adapter: Adapter;
}

/** A wire of a provider's own is loaded with the first provider that has it. */
async function speak(settings: ProviderSettings, key: string | undefined, origins: Origins): Promise<Adapter> {
  const { wire } = settings;
  if (wire === 'chat') return createChatAdapter(settings, key, origins);
  const { createNativeAdapter } = await import('./native/native-adapter.ts');
  return createNativeAdapter({ ...settings, wire }, key, origins);
}

export function createProviderClients(): ProviderClients {
  const clients = new WeakMap<ProviderSettings, Client>();
  let origins: Promise<Origins> | undefined;

  async function connect(settings: ProviderSettings, key: string | undefined): Promise<Adapter> {
    // Loaded when first needed: the development models do without.
    origins ??= openOrigins();
    const adapter = await speak(settings, key, await origins);
    clients.set(settings, { key, adapter });
    return adapter;
  }

  return {
    adapter(settings, key) {
      const client = clients.get(settings);
      return client !== undefined && client.key === key ? client.adapter : connect(settings, key);
    },
  };
}
