import { isOauthTokenName } from '@switchyard/contracts';
import { LRUCache } from 'lru-cache';
import { streamingAdapter, type Adapter, type Attempt, type Ending, type Delta } from '../model/adapter.ts';
import { ProtocolError } from '../errors/protocol-error.ts';
import type { ConnectionPool } from '../http/connection-pool.ts';
import { toWellFormedJson } from '../http/json-text.ts';
import { requestText } from '../http/text-request.ts';
import { createEmbed } from '../embeddings/embeddings-request.ts';
import { resolveEndpoint, type Endpoint } from '../providers/endpoint.ts';
import { createFrameError } from '../errors/provider-errors.ts';
import type { ProviderSettings } from '../providers/provider-settings.ts';
import { UpstreamError } from '../errors/upstream-error.ts';
import { buildCallOptions, type ModelProfile } from './call-options.ts';
import { NativeExchange } from './native-exchange.ts';
import { PromptCaches, type PromptCacheClient } from './prompt-caches.ts';
import { ErrorPart, StreamReader } from './stream-reader.ts';
import { ReasoningCache } from './reasoning-cache.ts';
import { NATIVE_APIS, type LibraryModel, type StreamPart, type NativeApi, type ProtocolName } from './native-apis.ts';

/** Time for a complete response to close, so that its connection can be reused. */
const CLOSE_TIMEOUT_MS = 1_000;
/** Clients cached per provider. Callers choose model ids, so the cache is bounded. */
const MAX_CACHED_MODELS = 1_000;

interface NativeModel {
  model: LibraryModel;
  profile: ModelProfile;
}

/**
 * Creates an adapter for a provider's native API with the AI SDK. The SDK renders the request and parses the response. Address, key and
 * connection are controlled here, so the SDK can only reach the configured address.
 */
export async function createNativeAdapter(
  settings: ProviderSettings & { protocol: Exclude<ProtocolName, 'chat'> },
  key: string | undefined,
  origins: ConnectionPool,
): Promise<Adapter> {
  const api = NATIVE_APIS[settings.protocol];
  const endpoint = resolveNativeEndpoint(settings, key, api);
  const exchanges = new WeakMap<AbortSignal, NativeExchange>();
  const caches = settings.protocol === 'google' ? new PromptCaches(createPromptCacheClient(endpoint, origins)) : undefined;
  const fetch = createPooledFetch({ endpoint, origins, exchanges, caches });
  const client = await api.load({ baseURL: `${endpoint.origin}${endpoint.path}`, apiKey: '', fetch });
  const getModel = createModelCache(settings, api, client);

  async function* stream(attempt: Attempt): AsyncGenerator<Delta, Ending, void> {
    const { model: ref, conversation: conversationId } = attempt.request;
    const { model, profile } = getModel(ref.modelId);
    const conversation = new NativeExchange({ provider: settings.id, attempt, timeoutMs: settings.timeoutMs });
    const { signal } = new AbortController();
    exchanges.set(signal, conversation);
    const reader = new StreamReader();
    let parts: ReadableStreamDefaultReader<StreamPart> | undefined;
    try {
      parts = (await model.doStream(buildCallOptions({ request: attempt.request, signal }, profile))).stream.getReader();
      for (;;) {
        const { done, value } = await parts.read();
        const piece = value === undefined ? undefined : reader.take(value);
        if (piece !== undefined) yield piece;
        if (reader.ending === undefined && !done) continue;
        if (profile.reasoning !== undefined && conversationId !== undefined) reader.saveReasoning(profile.reasoning, conversationId);
        return reader.ending ?? { calls: [], usage: {} };
      }
    } catch (error) {
      throw conversation.failure?.error ?? convertError(error, conversation.hasHead);
    } finally {
      if (reader.ending === undefined || parts === undefined) conversation.end();
      else drainResponse(parts, conversation);
    }
  }

  const embeds =
    settings.protocol === 'google' ? { embed: createEmbed(chatCompatible(settings), key, origins), embedsTextOnly: true as const } : {};
  return { ...streamingAdapter(stream), ...embeds };
}

/** Resolves the endpoint. OAuth tokens are sent as bearer tokens with the additional headers of the API. */
function resolveNativeEndpoint(
  settings: ProviderSettings,
  key: string | undefined,
  { keyHeader, oauthHeaders: signedIn }: NativeApi,
): Endpoint {
  if (!isOauthTokenName(settings.keyName ?? '')) return resolveEndpoint(settings, key, '', keyHeader);
  const endpoint = resolveEndpoint(settings, key, '');
  return { ...endpoint, headers: [...endpoint.headers, ...signedIn] };
}

/** Returns the settings of the provider's chat-completions-compatible routes. */
function chatCompatible(settings: ProviderSettings): ProviderSettings {
  return { ...settings, baseUrl: `${settings.baseUrl.replace(/\/+$/, '')}/openai` };
}

/** Creates a cached lookup of the SDK clients of a provider's models. */
function createModelCache(
  settings: ProviderSettings,
  api: NativeApi,
  client: (modelId: string) => LibraryModel,
): (modelId: string) => NativeModel {
  const cache = new LRUCache<string, NativeModel>({ max: MAX_CACHED_MODELS });
  const reasoningCache = new ReasoningCache();
  return (modelId) => {
    const cached = cache.get(modelId);
    if (cached !== undefined) return cached;
    const { compat = {} } = settings.modelCompat.get(modelId) ?? {};
    const name = modelId.toLowerCase();
    const dropsReasoning = settings.dropThinkingHints.some((hint) => name.includes(hint.toLowerCase()));
    const profile: ModelProfile = {
      api,
      reasoning: dropsReasoning ? undefined : reasoningCache,
      tools: compat.supportsTools !== false,
      search: compat.nativeWebSearchTool === true,
      maxTokens: settings.catalogue.find((entry) => entry.modelId === modelId)?.maxTokens,
    };
    const cachedClient = { model: client(modelId), profile };
    cache.set(modelId, cachedClient);
    return cachedClient;
  };
}

interface PooledFetchOptions {
  endpoint: Endpoint;
  origins: ConnectionPool;
  exchanges: WeakMap<AbortSignal, NativeExchange>;
  caches: PromptCaches | undefined;
}

/** Creates the fetch function of the SDK. Only the API headers of the SDK are sent, and the headers of the endpoint. */
function createPooledFetch({ endpoint, origins, exchanges, caches }: PooledFetchOptions): typeof fetch {
  return async (input, init) => {
    const conversation = init?.signal ? exchanges.get(init.signal) : undefined;
    if (conversation === undefined || typeof input !== 'string') throw new TypeError('not a call');
    const url = new URL(input);
    if (url.origin !== endpoint.origin || typeof init?.body !== 'string') throw new TypeError('not a call');
    const { attempt } = conversation;
    const limit = origins.getLimit(endpoint.origin);
    await limit.acquire(attempt.signal);
    conversation.onConnected(() => origins.release(endpoint.origin, limit));
    const trace = attempt.traceparent === undefined ? [] : ['traceparent', attempt.traceparent];
    const headers = [...selectApiHeaders(new Headers(init.headers)), ...endpoint.headers, ...trace];
    const json = toWellFormedJson(init.body);
    const { body, onMissing } = caches?.apply(json, attempt.request) ?? { body: json, onMissing: undefined };
    const path = `${url.pathname}${url.search}`;
    origins.dispatch({ origin: endpoint.origin, path, method: 'POST', headers, body }, conversation);
    return onMissing === undefined
      ? conversation.response
      : conversation.response.catch((error: unknown) => retryWithoutCache(conversation, error, onMissing));
  };
}

/** Converts the error of a missing prompt cache to a retryable one. The retry sends the complete prompt. */
function retryWithoutCache(conversation: NativeExchange, error: unknown, onMissing: () => void): never {
  const isMissing = error instanceof UpstreamError && error.status !== undefined && [400, 403, 404].includes(error.status);
  if (!isMissing) throw error;
  onMissing();
  const cause = new UpstreamError(error.message, { status: 503, headers: { 'retry-after-ms': '0' } });
  conversation.failure = { error: cause };
  throw cause;
}

const CACHE_REQUEST_TIMEOUT_MS = 30_000;
const MAX_CACHE_RESPONSE_BYTES = 4 * 1024 * 1024;

/** Creates the client of Google's prompt cache, over the connection pool. */
function createPromptCacheClient(endpoint: Endpoint, origins: ConnectionPool): PromptCacheClient {
  const sendRequest = (route: string, method: 'POST' | 'DELETE', body: string): Promise<string> => {
    const signal = AbortSignal.timeout(CACHE_REQUEST_TIMEOUT_MS);
    const at = { ...endpoint, path: `${endpoint.path}${route}` };
    return requestText(origins, at, { body, method, maxBytes: MAX_CACHE_RESPONSE_BYTES, signal, onAlive: () => undefined });
  };
  return {
    async create(content, ttlMs) {
      const json = JSON.parse(
        await sendRequest('/cachedContents', 'POST', JSON.stringify({ ...content, ttl: `${ttlMs / 1_000}s` })),
      ) as unknown;
      const { name } = (json ?? {}) as { name?: unknown };
      // The name becomes part of a URL.
      if (typeof name !== 'string' || !/^cachedContents\/[\w-]{1,200}$/.test(name))
        throw new ProtocolError('returned no name for the cached content');
      return name;
    },
    async remove(name) {
      await sendRequest(`/${name}`, 'DELETE', '').catch(() => undefined); // the cache expires by itself
    },
  };
}

function selectApiHeaders(headers: Headers): string[] {
  return [...headers].filter(([name]) => name.startsWith('anthropic-')).flat();
}

/** Converts an error of the SDK, which may contain the request, to our errors. */
function convertError(thrown: unknown, hasHead: boolean): unknown {
  const error = thrown instanceof ErrorPart ? thrown.cause : thrown;
  const { statusCode, message } = (error ?? {}) as { statusCode?: unknown; message?: unknown };
  if (typeof statusCode === 'number' && typeof message === 'string') return new UpstreamError(message, { status: statusCode });
  if (/^AI_(JSONParse|TypeValidation|InvalidResponseData)Error$/.test(String((error as { name?: unknown } | undefined)?.name)))
    return new ProtocolError('sent a response that violates its protocol');
  if (thrown instanceof ErrorPart) return createFrameError(error);
  return hasHead ? new ProtocolError('sent an unreadable response') : thrown;
}

/** Reads a complete response to its end, with a timeout, so that the connection can be reused. */
function drainResponse(parts: ReadableStreamDefaultReader<StreamPart>, conversation: NativeExchange): void {
  const linger = setTimeout(() => conversation.end(), CLOSE_TIMEOUT_MS).unref();
  const drain = async (): Promise<void> => {
    while (!(await parts.read()).done);
  };
  void drain()
    .catch(() => undefined)
    .finally(() => clearTimeout(linger));
}
