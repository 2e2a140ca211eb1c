import type { MediaProvider } from './media-providers.ts';
import type { ProviderTransport } from './provider-fetch.ts';

/** What a call of a provider library needs. */
export interface CallContext {
  provider: MediaProvider;
  key: string | undefined;
  transport: ProviderTransport;
}
