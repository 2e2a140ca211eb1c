import { isOauthTokenName } from '@switchyard/contracts';
import { LRUCache } from 'lru-cache';
import { streamingAdapter, type Adapter, type Attempt, type Ending, type Piece } from '../model/adapter.ts';
import { NotTheProtocol } from '../errors/protocol-error.ts';
import type { Origins } from '../http/connection-pool.ts';
import { askWhole } from '../http/text-request.ts';
import { createEmbed } from '../embeddings/embeddings-request.ts';
import { addressOf, type Endpoint } from '../providers/endpoint.ts';
import { frameError } from '../errors/provider-errors.ts';
import type { ProviderSettings } from '../providers/provider-settings.ts';
import { UpstreamError } from '../errors/upstream-error.ts';
import { callOptions, type Manner } from './call-options.ts';
import { Conversation } from './native-exchange.ts';
import { PromptCaches, type Keeper } from './prompt-caches.ts';
import { ErrorPart, StreamReader } from './stream-reader.ts';
import { Thoughts } from './reasoning-cache.ts';
import { WIRES, type LibraryModel, type StreamPart, type Wire, type WireName } from './native-apis.ts';

/** How long an answer that is complete may take to end its response, so that its connection can be used again. */
const LINGER_MS = 1_000;
/** Clients cached per provider. Callers choose model ids, so the cache is bounded. */
const MAX_CACHED_MODELS = 1_000;

interface Spoken {
  model: LibraryModel;
  manner: Manner;
}

/**
 * Speaks the wire of a provider's own through the library that knows it. The library makes the request and reads the answer; where it
 * goes, with which key and over which connection is ours: it can reach nothing but the address of the settings.
 */
export async function createNativeAdapter(
  settings: ProviderSettings & { wire: Exclude<WireName, 'chat'> },
  key: string | undefined,
  origins: Origins,
): Promise<Adapter> {
  const wire = WIRES[settings.wire];
  const endpoint = endpointOf(settings, key, wire);
  const conversations = new WeakMap<AbortSignal, Conversation>();
  const caches = settings.wire === 'google' ? new PromptCaches(keeperAt(endpoint, origins)) : undefined;
  const fetch = fetchThrough({ endpoint, origins, conversations, caches });
  const client = await wire.load({ baseURL: `${endpoint.origin}${endpoint.path}`, apiKey: '', fetch });
  const modelOf = createModelsOf(settings, wire, client);

  async function* stream(attempt: Attempt): AsyncGenerator<Piece, Ending, void> {
    const { model: ref, conversation: among } = attempt.request;
    const { model, manner } = modelOf(ref.modelId);
    const conversation = new Conversation({ provider: settings.id, attempt, timeoutMs: settings.timeoutMs });
    const { signal } = new AbortController();
    conversations.set(signal, conversation);
    const reader = new StreamReader();
    let parts: ReadableStreamDefaultReader<StreamPart> | undefined;
    try {
      parts = (await model.doStream(callOptions({ request: attempt.request, signal }, manner))).stream.getReader();
      for (;;) {
        const { done, value } = await parts.read();
        const piece = value === undefined ? undefined : reader.take(value);
        if (piece !== undefined) yield piece;
        if (reader.ending === undefined && !done) continue;
        if (manner.thoughts !== undefined && among !== undefined) reader.remember(manner.thoughts, among);
        return reader.ending ?? { calls: [], usage: {} };
      }
    } catch (error) {
      throw conversation.failure?.error ?? understood(error, conversation.answered);
    } finally {
      if (reader.ending === undefined || parts === undefined) conversation.end();
      else letEnd(parts, conversation);
    }
  }

  const embeds = settings.wire === 'google' ? { embed: createEmbed(compatible(settings), key, origins) } : {};
  return { ...streamingAdapter(stream), ...embeds };
}

/** A sign-in goes where every wire has it, and is announced where the upstream wants that. */
function endpointOf(settings: ProviderSettings, key: string | undefined, { keyHeader, signedIn }: Wire): Endpoint {
  if (!isOauthTokenName(settings.keyName ?? '')) return addressOf(settings, key, '', keyHeader);
  const endpoint = addressOf(settings, key, '');
  return { ...endpoint, headers: [...endpoint.headers, ...signedIn] };
}

/** The routes of chat completions stand beside those of the wire. */
function compatible(settings: ProviderSettings): ProviderSettings {
  return { ...settings, baseUrl: `${settings.baseUrl.replace(/\/+$/, '')}/openai` };
}

/** The client of each model of a provider, made once. */
function createModelsOf(settings: ProviderSettings, wire: Wire, client: (modelId: string) => LibraryModel): (modelId: string) => Spoken {
  const cache = new LRUCache<string, Spoken>({ max: MAX_CACHED_MODELS });
  const kept = new Thoughts();
  return (modelId) => {
    const cached = cache.get(modelId);
    if (cached !== undefined) return cached;
    const { compat = {} } = settings.ways.get(modelId) ?? {};
    const name = modelId.toLowerCase();
    const drops = settings.dropThinkingHints.some((hint) => name.includes(hint.toLowerCase()));
    const manner: Manner = {
      wire,
      thoughts: drops ? undefined : kept,
      tools: compat.supportsTools !== false,
      search: compat.nativeWebSearchTool === true,
      maxTokens: settings.catalogue.find((entry) => entry.modelId === modelId)?.maxTokens,
    };
    const spoken = { model: client(modelId), manner };
    cache.set(modelId, spoken);
    return spoken;
  };
}

interface Through {
  endpoint: Endpoint;
  origins: Origins;
  conversations: WeakMap<AbortSignal, Conversation>;
  caches: PromptCaches | undefined;
}

/** What libraries fetch with. Of the headers that they make, those of the wire itself are sent, and ours. */
function fetchThrough({ endpoint, origins, conversations, caches }: Through): typeof fetch {
  return async (input, init) => {
    const conversation = init?.signal ? conversations.get(init.signal) : undefined;
    if (conversation === undefined || typeof input !== 'string') throw new TypeError('not a call');
    const url = new URL(input);
    if (url.origin !== endpoint.origin || typeof init?.body !== 'string') throw new TypeError('not a call');
    const { attempt } = conversation;
    const gate = origins.gate(endpoint.origin);
    await gate.enter(attempt.signal);
    conversation.entered(() => origins.left(endpoint.origin, gate));
    const trace = attempt.traceparent === undefined ? [] : ['traceparent', attempt.traceparent];
    const headers = [...ofTheWire(new Headers(init.headers)), ...endpoint.headers, ...trace];
    const { body, lost } = caches?.shorten(init.body, attempt.request) ?? { body: init.body, lost: undefined };
    const path = `${url.pathname}${url.search}`;
    origins.dispatch({ origin: endpoint.origin, path, method: 'POST', headers, body }, conversation);
    return lost === undefined ? conversation.response : conversation.response.catch((error: unknown) => again(conversation, error, lost));
  };
}

/** What was promised to be kept is gone, or cannot be used: the next attempt is sent whole, and at once. */
function again(conversation: Conversation, error: unknown, lost: () => void): never {
  const gone = error instanceof UpstreamError && error.status !== undefined && [400, 403, 404].includes(error.status);
  if (!gone) throw error;
  lost();
  const cause = new UpstreamError(error.message, { status: 503, headers: { 'retry-after-ms': '0' } });
  conversation.failure = { error: cause };
  throw cause;
}

const KEEP_MS = 30_000;
const MAX_KEPT_BYTES = 4 * 1024 * 1024;

/** Keeps beginnings of prompts where the provider does, over the same connections as everything else. */
function keeperAt(endpoint: Endpoint, origins: Origins): Keeper {
  const ask = (route: string, method: 'POST' | 'DELETE', body: string): Promise<string> => {
    const signal = AbortSignal.timeout(KEEP_MS);
    const at = { ...endpoint, path: `${endpoint.path}${route}` };
    return askWhole(origins, at, { body, method, maxBytes: MAX_KEPT_BYTES, signal, onAlive: () => undefined });
  };
  return {
    async create(content, ttlMs) {
      const said = JSON.parse(await ask('/cachedContents', 'POST', JSON.stringify({ ...content, ttl: `${ttlMs / 1_000}s` }))) as unknown;
      const { name } = (said ?? {}) as { name?: unknown };
      // It becomes a part of the address that it is removed at.
      if (typeof name !== 'string' || !/^cachedContents\/[\w-]{1,200}$/.test(name)) throw new NotTheProtocol('gave what it keeps no name');
      return name;
    },
    async remove(name) {
      await ask(`/${name}`, 'DELETE', '').catch(() => undefined); // it ends by itself
    },
  };
}

function ofTheWire(headers: Headers): string[] {
  return [...headers].filter(([name]) => name.startsWith('anthropic-')).flat();
}

/** What a library throws is in its own words, and may hold what was asked: what is meant by it goes on. */
function understood(thrown: unknown, answered: boolean): unknown {
  const error = thrown instanceof ErrorPart ? thrown.cause : thrown;
  const { statusCode, message } = (error ?? {}) as { statusCode?: unknown; message?: unknown };
  if (typeof statusCode === 'number' && typeof message === 'string') return new UpstreamError(message, { status: statusCode });
  if (/^AI_(JSONParse|TypeValidation|InvalidResponseData)Error$/.test(String((error as { name?: unknown } | undefined)?.name)))
    return new NotTheProtocol('sent what its protocol does not know');
  if (thrown instanceof ErrorPart) return frameError(error);
  return answered ? new NotTheProtocol('sent what cannot be read') : thrown;
}

/** What is complete may end by itself; what does not is broken off. */
function letEnd(parts: ReadableStreamDefaultReader<StreamPart>, conversation: Conversation): void {
  const linger = setTimeout(() => conversation.end(), LINGER_MS).unref();
  const drain = async (): Promise<void> => {
    while (!(await parts.read()).done);
  };
  void drain()
    .catch(() => undefined)
    .finally(() => clearTimeout(linger));
}
