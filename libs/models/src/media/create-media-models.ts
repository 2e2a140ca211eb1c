import type { Sections } from '@switchyard/contracts';
import { DEV_PROVIDER } from '../dev/dev-provider.ts';
import { modelNotFound, notConfigured, classify } from '../errors/provider-errors.ts';
import { createKeyCache, isKeyOriginError } from '../providers/key-cache.ts';
import type { ModelRef } from '../model/model.ts';
import type { CallContext } from './call-context.ts';
import { convertLibraryError } from './library-errors.ts';
import type { MediaCall, MediaKind, MediaModels, MediaUsage } from './media-models.ts';
import { calculateMediaCost, type BilledAmounts } from './media-prices.ts';
import { resolveMediaProvider, supportsKind, type MediaProvider } from './media-providers.ts';
import { createProviderTransport } from './provider-fetch.ts';

export interface MediaModelsOptions {
  /** Read at each call, so that a change takes effect immediately. */
  settings: () => Readonly<Pick<Sections, 'providers' | 'security'>>;
  /** Reads a secret by name and by the origin that the key is bound to; null if absent. Values are cached for `keyTtlMs`. */
  secret: (name: string, origin?: string) => Promise<string | null>;
  env: Readonly<Record<string, string | undefined>>;
  keyTtlMs?: number;
}

const KEY_TTL_MS = 30_000;
const FORMAT_OF_KIND: Readonly<Record<MediaKind, string>> = { transcription: 'transcription', speech: 'speech', image: 'images' };

/** Creates the speech and image models of this process. The provider libraries are loaded on first use. */
export function createMediaModels({ settings, secret, env, keyTtlMs = KEY_TTL_MS }: MediaModelsOptions): MediaModels & AsyncDisposable {
  const keys = createKeyCache({ secret, env, ttlMs: keyTtlMs });
  const transport = createProviderTransport(() => settings().security);

  async function readKey(provider: MediaProvider): Promise<string | undefined> {
    return keys.get(provider).catch((error: unknown) => {
      throw isKeyOriginError(error) ? notConfigured('PROVIDER_AUTH', `provider ${provider.id}: ${error.message}`) : error;
    });
  }

  async function resolve({ provider: id }: ModelRef, kind: MediaKind): Promise<{ provider: MediaProvider; key: string | undefined }> {
    const provider = supportsKind(id, kind) ? resolveMediaProvider(id, settings(), env) : undefined;
    if (provider === undefined) throw modelNotFound(`provider ${id} has no ${FORMAT_OF_KIND[kind]}`);
    if (provider.refusal !== undefined) throw notConfigured('PROVIDER_NOT_CONFIGURED', `provider ${id}: ${provider.refusal}`);
    const key = await readKey(provider);
    if (key === undefined && !provider.keyOptional) {
      throw notConfigured('PROVIDER_AUTH', `provider ${id} has no key: set the secret ${provider.keyName ?? ''}`);
    }
    return { provider, key };
  }

  /** Runs a call, values its answer and converts its failure. The key is removed from messages of the provider. */
  async function call<A extends { amounts: BilledAmounts }>(
    kind: MediaKind,
    { model, timeoutMs }: MediaCall,
    run: (context: CallContext) => Promise<A>,
  ): Promise<Omit<A, 'amounts'> & { usage?: MediaUsage }> {
    const { provider, key } = await resolve(model, kind);
    const callee = { provider: provider.id, keyName: provider.keyName, key, headers: Object.values(provider.headers) };
    try {
      const { amounts, ...answer } = await run({ provider, key, transport });
      const usage = readUsage(model, provider.baseUrl, amounts);
      return { ...answer, ...(usage === undefined ? {} : { usage }) };
    } catch (error) {
      const { error: failure } = classify(convertLibraryError(error, { provider: provider.id, timeoutMs }), callee);
      if (failure.details['reason'] === 'PROVIDER_AUTH') keys.invalidate(provider.keyName);
      throw failure;
    }
  }

  return {
    async isAvailable(id, kind) {
      const provider = supportsKind(id, kind) ? resolveMediaProvider(id, settings(), env) : undefined;
      if (provider === undefined || provider.refusal !== undefined) return false;
      return provider.keyOptional || (await readKey(provider).catch(() => undefined)) !== undefined;
    },
    async transcribe(request) {
      if (request.model.provider === DEV_PROVIDER) return (await import('./dev-speech.ts')).transcribeForDevelopment(request);
      const { transcribe } = await import('./library-calls.ts');
      return call('transcription', request, (context) => transcribe(request, context));
    },
    async synthesize(request) {
      if (request.model.provider === DEV_PROVIDER) return (await import('./dev-speech.ts')).synthesizeForDevelopment(request);
      const { synthesize } = await import('./library-calls.ts');
      return call('speech', request, (context) => synthesize(request, context));
    },
    async generateImage(request) {
      if (request.model.provider === DEV_PROVIDER) return (await import('./dev-image.ts')).generateForDevelopment(request);
      const { generateImage } = await import('./library-calls.ts');
      return call('image', request, (context) => generateImage(request, context));
    },
    clearKeyCache: () => keys.clear(),
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  };
}

function readUsage(model: ModelRef, baseUrl: string, amounts: BilledAmounts): MediaUsage | undefined {
  const costUsd = calculateMediaCost(model, baseUrl, amounts);
  if (costUsd === undefined) return undefined;
  const { textToken = 0, audioToken = 0, outputToken = 0 } = amounts;
  return { input: textToken + audioToken, output: outputToken, costUsd };
}
