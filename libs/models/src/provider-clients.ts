import { notConfigured } from './failure.ts';
import type { ProviderSettings } from './provider-settings.ts';
import type { StreamingModel } from './stream-step.ts';

/** Makes the client of a provider when it is first called; again only when its settings or its key changed. */
export interface ProviderClients {
  model(settings: ProviderSettings, key: string | undefined, modelId: string): Promise<StreamingModel>;
}

interface Client {
  key: string | undefined;
  chat: Promise<(modelId: string) => StreamingModel>;
}

export function createProviderClients(): ProviderClients {
  const clients = new WeakMap<ProviderSettings, Client>();
  return {
    async model(settings, key, modelId) {
      let client = clients.get(settings);
      if (client === undefined || client.key !== key) {
        client = { key, chat: connect(settings, key) };
        clients.set(settings, client);
      }
      return (await client.chat)(modelId);
    },
  };
}

async function connect(settings: ProviderSettings, key: string | undefined): Promise<(modelId: string) => StreamingModel> {
  const { id, baseUrl, headers, timeoutMs } = settings;
  if (!URL.canParse(baseUrl)) {
    throw notConfigured('PROVIDER_NOT_CONFIGURED', `provider ${id} has no usable address: set providers.entries.${id}.baseUrl`);
  }
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key)) {
    throw notConfigured('PROVIDER_AUTH', `the secret ${settings.keyName ?? ''} has characters that are in no key: set it again`);
  }
  // Loaded when first needed: the adapter costs a tenth of a second at start.
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  const provider = createOpenAICompatible({
    name: id,
    baseURL: baseUrl,
    headers: { ...headers },
    includeUsage: true,
    supportsStructuredOutputs: true,
    fetch: fetchOnce(timeoutMs),
    transformRequestBody: requestBody(baseUrl),
    ...(key === undefined ? {} : { apiKey: key }),
  });
  return (modelId) => provider.chatModel(modelId);
}

/** The current models of OpenAI itself refuse `max_tokens`; everybody else's servers know nothing but that. */
export function requestBody(baseUrl: string): (body: Record<string, unknown>) => Record<string, unknown> {
  if (new URL(baseUrl).host !== 'api.openai.com') return (body) => body;
  return ({ max_tokens, ...body }) => (max_tokens === undefined ? body : { ...body, max_completion_tokens: max_tokens });
}

/** One request, no redirect: the key and the headers go to the configured origin and nowhere else. */
function fetchOnce(timeoutMs: number): typeof fetch {
  return async (input, init) => {
    const late = new AbortController();
    const timer = setTimeout(() => {
      late.abort(Object.assign(new Error(`no answer within ${timeoutMs} ms`), { code: 'ETIMEDOUT' }));
    }, timeoutMs);
    const signals = init?.signal ? [init.signal, late.signal] : [late.signal];
    try {
      return await fetch(input, { ...init, redirect: 'manual', signal: AbortSignal.any(signals) });
    } finally {
      clearTimeout(timer);
    }
  };
}
