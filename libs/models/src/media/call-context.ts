import type { MediaProvider } from './media-providers.ts';
import type { ProviderTransport } from './provider-fetch.ts';

/** The provider of a call, its key, and the transport for its requests. */
export interface CallContext {
  provider: MediaProvider;
  key: string | undefined;
  transport: ProviderTransport;
}
