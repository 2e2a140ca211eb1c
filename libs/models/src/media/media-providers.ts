import type { Sections } from '@switchyard/contracts';
import { explainBlockedHost } from '@switchyard/security';
import type { KeyRef } from '../providers/key-cache.ts';
import { providerSettings } from '../providers/provider-settings.ts';
import type { MediaKind } from './media-models.ts';

/** A provider of speech or images: where it is, and its key. */
export interface MediaProvider extends KeyRef {
  id: string;
  /** Address of the API. Replaces the published address where the operator configured another one. */
  baseUrl: string;
  /** Whether the provider can be called without a key, because the operator configured its address. */
  keyOptional: boolean;
  /** Why the key must not be sent to the address, or the host must not be called. */
  refusal: string | undefined;
  headers: Readonly<Record<string, string>>;
}

interface PublishedProvider {
  baseUrl: string;
  keyName: string;
}

/** Providers that have no chat models. They are not part of the catalogue of chat models. */
const PUBLISHED: Readonly<Record<string, PublishedProvider>> = {
  deepgram: { baseUrl: 'https://api.deepgram.com', keyName: 'DEEPGRAM_API_KEY' },
  elevenlabs: { baseUrl: 'https://api.elevenlabs.io', keyName: 'ELEVENLABS_API_KEY' },
  fal: { baseUrl: 'https://fal.run', keyName: 'FAL_API_KEY' },
};

const KINDS: Readonly<Record<string, readonly MediaKind[]>> = {
  openai: ['transcription', 'speech', 'image'],
  groq: ['transcription'],
  deepgram: ['transcription'],
  elevenlabs: ['speech'],
  fal: ['image'],
};

export function supportsKind(provider: string, kind: MediaKind): boolean {
  return KINDS[provider]?.includes(kind) === true;
}

type Env = Readonly<Record<string, string | undefined>>;
type MediaProviderSettings = Readonly<Pick<Sections, 'providers' | 'security'>>;

/** Resolves a provider from the current settings; undefined if it is unknown or switched off. */
export function resolveMediaProvider(id: string, { providers, security }: MediaProviderSettings, env: Env): MediaProvider | undefined {
  const hosts = security.permission.allowedNetHosts;
  const published = PUBLISHED[id];
  if (published === undefined) return resolveChatProvider(id, providers, { env, hosts });
  const entry = Object.hasOwn(providers.entries, id) ? providers.entries[id] : undefined;
  if (entry?.enabled === false) return undefined;
  const baseUrl = entry?.baseUrl || published.baseUrl;
  const isPublished = new URL(baseUrl).origin === new URL(published.baseUrl).origin;
  // The key of a known provider is sent to that provider only. Another address gets the key that its entry names.
  const keyName = entry?.apiKeyName || (isPublished ? published.keyName : undefined);
  const isForeign = keyName === published.keyName && !isPublished;
  const refusal = isForeign
    ? `${keyName} is only sent to ${new URL(published.baseUrl).host}: store the key under another name and use that name`
    : explainBlockedHost(baseUrl, hosts);
  const keyOrigin = isPublished ? undefined : new URL(baseUrl).origin;
  return { id, baseUrl, keyName, keyOrigin, keyOptional: keyName === undefined, refusal, headers: entry?.headers ?? {} };
}

function resolveChatProvider(
  id: string,
  providers: Sections['providers'],
  options: Parameters<typeof providerSettings>[1],
): MediaProvider | undefined {
  const settings = providerSettings(providers, options).get(id);
  if (settings === undefined) return undefined;
  const { baseUrl, keyName, keyOrigin, keyOptional, keyRefusal, hostRefusal, headers } = settings;
  const missing = URL.canParse(baseUrl) ? undefined : `set providers.entries.${id}.baseUrl`;
  return { id, baseUrl, keyName, keyOrigin, keyOptional, refusal: keyRefusal ?? hostRefusal ?? missing, headers };
}
