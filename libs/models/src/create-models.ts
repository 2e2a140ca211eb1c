import { ProviderEntry, type Sections } from '@switchyard/contracts';
import { createCalls, type FindTarget, type Target } from './calls/model-calls.ts';
import { createDevProvider, DEV_PROVIDER } from './dev/dev-provider.ts';
import { createProviderDirectory, type ProviderDirectory } from './providers/provider-directory.ts';
import { modelNotFound, notConfigured } from './errors/provider-errors.ts';
import { fallbackModel, findEmbedder, findModel } from './providers/find-model.ts';
import { createKeyCache, isKeyOriginError, type KeyCache } from './providers/key-cache.ts';
import type { ModelPart, ModelRef, ModelRequest, Models } from './model/model.ts';
import { withKey } from './providers/provider-settings.ts';
import { createProviderClients } from './provider-clients.ts';
import { DEFAULT_RETRY_POLICY, type RetryPolicy } from './errors/retry.ts';

export interface ModelsOptions {
  /** Read at each call, so that a change takes effect immediately. Returns one object per revision. */
  settings: () => Readonly<Pick<Sections, 'models' | 'providers' | 'security'>>;
  /** Reads a secret by name and by the origin that the key is bound to; null if absent. Values are cached for `keyTtlMs`. */
  secret: (name: string, origin?: string) => Promise<string | null>;
  env: Readonly<Record<string, string | undefined>>;
  log?: { warn: (fields: object, message: string) => void };
  keyTtlMs?: number;
  /** The pauses between attempts. The number of attempts is configured per provider. */
  retry?: Pick<RetryPolicy, 'baseMs' | 'maxMs'>;
}

const KEY_TTL_MS = 30_000;
const TEST_SILENCE_MS = 15_000;
const TEST_MAX_TOKENS = 16;

/** Creates the models of this process. Libraries are loaded and connections opened on first use. Throws if `OPENAI_BASE_URL` is invalid. */
export function createModels(options: ModelsOptions): Models {
  const { settings, secret, env, keyTtlMs = KEY_TTL_MS } = options;
  checkOpenAiBaseUrl(env['OPENAI_BASE_URL'] ?? '');
  const keys = createKeyCache({ secret, env, ttlMs: keyTtlMs });
  const directory = createProviderDirectory({ settings, env, keys });
  const calls = createCalls({ ...options, find: createFindTarget(directory, keys, options), keys });
  return {
    stream: (request) => calls.stream(request),
    streamTo: (request, sendMessage) => calls.streamTo(request, sendMessage),
    complete: (request) => calls.complete(request),
    clearKeyCache: () => keys.clear(),
    embed: (request) => calls.embed(request),
    embedder: async (name, standard) => findEmbedder(await directory.offer(), name, standard),
    revision: () => directory.offer(),
    providers: async () => [...(await directory.offer()).providers],
    find: async (name) => findModel(await directory.offer(), name),
    fallback: async () => fallbackModel(await directory.offer()),
    async catalogue(provider) {
      const { catalogue } = await directory.offer();
      return provider === undefined ? [...catalogue] : catalogue.filter((entry) => entry.provider === provider);
    },
    async test(model) {
      const startedAt = performance.now();
      const error = await findFailure(calls.stream(createTestRequest(model), 1));
      const latencyMs = Math.round(performance.now() - startedAt);
      return error === undefined ? { ok: true, latencyMs } : { ok: false, latencyMs, error };
    },
  };
}

function checkOpenAiBaseUrl(url: string): void {
  if (ProviderEntry.shape.baseUrl.safeParse(url).success) return;
  throw notConfigured('PROVIDER_URL', 'OPENAI_BASE_URL must be an http:// or https:// URL, such as http://127.0.0.1:11434/v1.');
}

function createFindTarget(directory: ProviderDirectory, keys: KeyCache, { env, settings: current }: ModelsOptions): FindTarget {
  const clients = createProviderClients(() => current().security.egress.allowHosts);
  const devModel = createDevProvider();

  async function devTarget(modelId: string): Promise<Target> {
    const adapter = devModel(modelId);
    if (adapter === undefined) throw modelNotFound(`the development provider has no model ${modelId}`);
    if (!(await directory.offer()).providers.includes(DEV_PROVIDER)) {
      throw modelNotFound('the development models are disabled while a real provider is available: set models.dev to true to enable both');
    }
    const callee = { provider: DEV_PROVIDER, keyName: undefined, key: undefined };
    return { adapter, callee, attempts: DEFAULT_RETRY_POLICY.attempts, cost: undefined, takesImages: false };
  }

  return async ({ provider, modelId }, named) => {
    if (provider === DEV_PROVIDER) return devTarget(modelId);
    const settings = directory.configured().get(provider);
    if (settings === undefined) throw modelNotFound(`no provider ${provider}`);
    const effective = named === undefined ? settings : withKey(settings, named, env);
    const { keyName, keyRefusal, keyOptional, keyWithheld, hostRefusal } = effective;
    if (hostRefusal !== undefined) throw notConfigured('HOST_NOT_ALLOWED', `provider ${provider}: ${hostRefusal}`);
    if (keyRefusal !== undefined) throw notConfigured('PROVIDER_AUTH', `provider ${provider}: ${keyRefusal}`);
    const key = await keys.get(effective).catch((error: unknown) => {
      throw isKeyOriginError(error) ? notConfigured('PROVIDER_AUTH', `provider ${provider}: ${error.message}`) : error;
    });
    if (key === undefined && !keyOptional) {
      throw notConfigured('PROVIDER_AUTH', `provider ${provider} has no key: set the secret ${keyName ?? ''}`);
    }
    const headers = Object.values(settings.headers);
    const callee = { provider, title: settings.name, keyName: key === undefined ? undefined : keyName, key, keyWithheld, headers };
    const entry = settings.catalogue.find((model) => model.modelId === modelId);
    const adapter = await clients.adapter(settings, key, effective.keyName);
    return { adapter, callee, attempts: settings.attempts, cost: entry?.cost, takesImages: entry?.input.includes('image') === true };
  };
}

function createTestRequest(model: ModelRef): ModelRequest {
  // The scripted model accepts scripts only; the empty script is the shortest.
  const text = formatModelName(model) === 'dev/scripted' ? '[]' : 'ping';
  const { signal } = new AbortController();
  return { model, messages: [{ role: 'user', text }], maxTokens: TEST_MAX_TOKENS, signal, promptTimeoutMs: TEST_SILENCE_MS };
}

async function findFailure(parts: AsyncIterable<ModelPart>): Promise<string | undefined> {
  try {
    for await (const part of parts) if (part.type === 'finish') return undefined;
    return 'no response';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function formatModelName({ provider, modelId }: ModelRef): string {
  return `${provider}/${modelId}`;
}
