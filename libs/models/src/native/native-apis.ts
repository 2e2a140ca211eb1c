import type { AnthropicProvider } from '@ai-sdk/anthropic';
import type { ProviderSettings } from '../providers/provider-settings.ts';

/** The model type of the AI SDK, the same for all providers. */
export type LibraryModel = ReturnType<AnthropicProvider>;
export type CallOptions = Parameters<LibraryModel['doStream']>[0];
export type StreamPart = Awaited<ReturnType<LibraryModel['doStream']>>['stream'] extends ReadableStream<infer Part> ? Part : never;
type Tool = NonNullable<CallOptions['tools']>[number];

export interface LibraryOptions {
  baseURL: string;
  fetch: typeof fetch;
  /** Not used: the fetch function adds the key. */
  apiKey: string;
}

/** A native API with an AI SDK provider. */
export interface NativeApi {
  /** The header of the API key. */
  keyHeader: string;
  /** Additional headers for OAuth tokens, as alternating names and values. */
  oauthHeaders: readonly string[];
  /** The key of provider options. */
  optionsKey: 'anthropic' | 'google';
  /** Provider options of every call. */
  defaultOptions: NonNullable<CallOptions['providerOptions']>;
  /** Whether prompt caching uses marks. */
  usesCacheMarks: boolean;
  /** Whether tool results require the preceding reasoning while reasoning is on. */
  requiresReasoning: boolean;
  /** The provider's web search tool. */
  searchTool: Tool;
  /** Loads the SDK provider and returns a factory of model clients. */
  load(options: LibraryOptions): Promise<(modelId: string) => LibraryModel>;
}

export type ProtocolName = ProviderSettings['protocol'];

export const NATIVE_APIS: Readonly<Record<Exclude<ProtocolName, 'chat'>, NativeApi>> = {
  anthropic: {
    keyHeader: 'x-api-key',
    oauthHeaders: ['anthropic-beta', 'oauth-2025-04-20'],
    optionsKey: 'anthropic',
    // Tool calls are delivered complete, so their arguments need not be streamed.
    defaultOptions: { anthropic: { toolStreaming: false } },
    usesCacheMarks: true,
    requiresReasoning: true,
    searchTool: { type: 'provider', id: 'anthropic.web_search_20250305', name: 'web_search', args: {} },
    load: async (options) => (await import('@ai-sdk/anthropic')).createAnthropic(options),
  },
  google: {
    keyHeader: 'x-goog-api-key',
    oauthHeaders: [],
    optionsKey: 'google',
    defaultOptions: {},
    usesCacheMarks: false,
    requiresReasoning: false,
    searchTool: { type: 'provider', id: 'google.google_search', name: 'google_search', args: {} },
    load: async (options) => (await import('@ai-sdk/google')).createGoogleGenerativeAI(options),
  },
};
