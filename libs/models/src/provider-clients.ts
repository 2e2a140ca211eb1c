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

export function createProviderClients(): ProviderClients {
  const clients = new WeakMap<ProviderSettings, Client>();
  let origins: Promise<Origins> | undefined;

  async function connect(settings: ProviderSettings, key: string | undefined): Promise<Adapter> {
    // Loaded when first needed: the development models do without.
    origins ??= openOrigins();
    const adapter = createChatAdapter(settings, key, await origins);
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
