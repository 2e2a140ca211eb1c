import type { AnthropicProvider } from '@ai-sdk/anthropic';
import type { ProviderSettings } from '../providers/provider-settings.ts';

/** What the libraries call a model of theirs; each of them has the same. */
export type LibraryModel = ReturnType<AnthropicProvider>;
export type CallOptions = Parameters<LibraryModel['doStream']>[0];
export type StreamPart = Awaited<ReturnType<LibraryModel['doStream']>>['stream'] extends ReadableStream<infer Part> ? Part : never;
type Tool = NonNullable<CallOptions['tools']>[number];

export interface LibraryOptions {
  baseURL: string;
  fetch: typeof fetch;
  /** Never sent: whoever fetches has the key. */
  apiKey: string;
}

/** A wire that a library speaks. */
export interface Wire {
  /** The header that the key stands in. */
  keyHeader: string;
  /** Names and values in turn: what is said beside a sign-in, which is no key. */
  signedIn: readonly string[];
  /** Under what the library keeps what only this wire has. */
  options: 'anthropic' | 'google';
  /** What is said with every call. */
  always: NonNullable<CallOptions['providerOptions']>;
  /** It keeps what stands in front of marks. */
  marks: boolean;
  /** It refuses calls of tools without the thoughts that led to them, while it thinks. */
  thoughtsWithCalls: boolean;
  /** The search of the upstream itself, where a model has one. */
  search: Tool;
  /** Loads the library: call it when it is first needed. Gives what makes the client of a model. */
  load(options: LibraryOptions): Promise<(modelId: string) => LibraryModel>;
}

export type WireName = ProviderSettings['wire'];

export const WIRES: Readonly<Record<Exclude<WireName, 'chat'>, Wire>> = {
  anthropic: {
    keyHeader: 'x-api-key',
    signedIn: ['anthropic-beta', 'oauth-2025-04-20'],
    options: 'anthropic',
    // Nobody sees a call before it is whole, so its arguments need not come before they are checked.
    always: { anthropic: { toolStreaming: false } },
    marks: true,
    thoughtsWithCalls: true,
    search: { type: 'provider', id: 'anthropic.web_search_20250305', name: 'web_search', args: {} },
    load: async (options) => (await import('@ai-sdk/anthropic')).createAnthropic(options),
  },
  google: {
    keyHeader: 'x-goog-api-key',
    signedIn: [],
    options: 'google',
    always: {},
    marks: false,
    thoughtsWithCalls: false,
    search: { type: 'provider', id: 'google.google_search', name: 'google_search', args: {} },
    load: async (options) => (await import('@ai-sdk/google')).createGoogleGenerativeAI(options),
  },
};
