import { ProviderEntry, type Sections } from '@switchyard/contracts';
import { createCalls, type FindTarget, type Target } from './calls/model-calls.ts';
import { createDevProvider, DEV_PROVIDER } from './dev/dev-provider.ts';
import { createDirectory, type Directory } from './providers/provider-directory.ts';
import { modelNotFound, notConfigured } from './errors/provider-errors.ts';
import { fallbackModel, findEmbedder, findModel } from './providers/find-model.ts';
import { createKeys, isBoundElsewhere, type Keys } from './providers/key-cache.ts';
import type { ModelPart, ModelRef, ModelRequest, Models } from './model/model.ts';
import { withKey } from './providers/provider-settings.ts';
import { createProviderClients } from './provider-clients.ts';
import { RETRY, type RetryPolicy } from './errors/retry.ts';

export interface ModelsOptions {
  /** Read at each call, so that a change is in force at once. One object per revision. */
  settings: () => Readonly<Pick<Sections, 'models' | 'providers' | 'security'>>;
  /** The value of a secret, null when there is none. Asked by name, and by the origin that a key is bound to, once in `keyTtlMs`. */
  secret: (name: string, origin?: string) => Promise<string | null>;
  env: Readonly<Record<string, string | undefined>>;
  log?: { warn: (fields: object, message: string) => void };
  keyTtlMs?: number;
  /** The pauses between attempts. How many there are says the provider's entry. */
  retry?: Pick<RetryPolicy, 'baseMs' | 'maxMs'>;
}

const KEY_TTL_MS = 30_000;
const TEST_SILENCE_MS = 15_000;
const TEST_MAX_TOKENS = 16;

/** The models of this process. Nothing is loaded or reached before it is needed. Throws where the environment is wrong from the start. */
export function createModels(options: ModelsOptions): Models {
  const { settings, secret, env, keyTtlMs = KEY_TTL_MS } = options;
  checkAddress(env['OPENAI_BASE_URL'] ?? '');
  const keys = createKeys({ secret, env, ttlMs: keyTtlMs });
  const directory = createDirectory({ settings, env, keys });
  const calls = createCalls({ ...options, find: createFindTarget(directory, keys, env), keys });
  return {
    stream: (request) => calls.stream(request),
    tell: (request, say) => calls.tell(request, say),
    complete: (request) => calls.complete(request),
    forgetKeys: () => keys.forgetAll(),
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
      const error = await failureOf(calls.stream(tinyRequest(model), 1));
      const latencyMs = Math.round(performance.now() - startedAt);
      return error === undefined ? { ok: true, latencyMs } : { ok: false, latencyMs, error };
    },
  };
}

function checkAddress(url: string): void {
  if (ProviderEntry.shape.baseUrl.safeParse(url).success) return;
  throw notConfigured('PROVIDER_URL', 'OPENAI_BASE_URL must be an http:// or https:// URL, such as http://127.0.0.1:11434/v1.');
}

function createFindTarget(directory: Directory, keys: Keys, env: ModelsOptions['env']): FindTarget {
  const clients = createProviderClients();
  const devModel = createDevProvider();

  async function devTarget(modelId: string): Promise<Target> {
    const adapter = devModel(modelId);
    if (adapter === undefined) throw modelNotFound(`the development provider has no model ${modelId}`);
    if (!(await directory.offer()).providers.includes(DEV_PROVIDER)) {
      throw modelNotFound('the development models rest while a real provider can answer: set models.dev to true to have both');
    }
    const callee = { provider: DEV_PROVIDER, keyName: undefined, key: undefined };
    return { adapter, callee, attempts: RETRY.attempts, cost: undefined };
  }

  return async ({ provider, modelId }, named) => {
    if (provider === DEV_PROVIDER) return devTarget(modelId);
    const settings = directory.configured().get(provider);
    if (settings === undefined) throw modelNotFound(`no provider ${provider}`);
    const used = named === undefined ? settings : withKey(settings, named, env);
    const { keyName, keyRefusal, keyOptional, keyWithheld, hostRefusal } = used;
    if (hostRefusal !== undefined) throw notConfigured('HOST_NOT_ALLOWED', `provider ${provider}: ${hostRefusal}`);
    if (keyRefusal !== undefined) throw notConfigured('PROVIDER_AUTH', `provider ${provider}: ${keyRefusal}`);
    const key = await keys.get(used).catch((error: unknown) => {
      throw isBoundElsewhere(error) ? notConfigured('PROVIDER_AUTH', `provider ${provider}: ${error.message}`) : error;
    });
    if (key === undefined && !keyOptional) {
      throw notConfigured('PROVIDER_AUTH', `provider ${provider} has no key: set the secret ${keyName ?? ''}`);
    }
    const headers = Object.values(settings.headers);
    const callee = { provider, title: settings.name, keyName: key === undefined ? undefined : keyName, key, keyWithheld, headers };
    const cost = settings.catalogue.find((entry) => entry.modelId === modelId)?.cost;
    return { adapter: await clients.adapter(settings, key, used.keyName), callee, attempts: settings.attempts, cost };
  };
}

function tinyRequest(model: ModelRef): ModelRequest {
  // The scripted model plays nothing but scripts; the empty one is the smallest.
  const text = nameOf(model) === 'dev/scripted' ? '[]' : 'ping';
  const { signal } = new AbortController();
  return { model, messages: [{ role: 'user', text }], maxTokens: TEST_MAX_TOKENS, signal, promptTimeoutMs: TEST_SILENCE_MS };
}

async function failureOf(parts: AsyncIterable<ModelPart>): Promise<string | undefined> {
  try {
    for await (const part of parts) if (part.type === 'finish') return undefined;
    return 'no answer';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function nameOf({ provider, modelId }: ModelRef): string {
  return `${provider}/${modelId}`;
}
