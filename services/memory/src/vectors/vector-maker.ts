import type { Bus } from '@switchyard/bus';
import { sections, ServiceError, type Principal } from '@switchyard/contracts';
import type { Settings } from '@switchyard/service-kit';
import { quantizeVector, type VectorModel } from '@switchyard/store';
import type { LocalModel } from './local-model.ts';
import type { QueryVectorCache } from './query-vector-cache.ts';

/** Embeds texts with the configured provider or the local model. */
export interface VectorMaker {
  /** The current model; undefined without a provider. */
  model(): VectorModel | undefined;
  /** Embeds texts in order. Throws the error of the provider. */
  make(texts: readonly string[], options: EmbedOptions): Promise<Int8Array[]>;
  /** The vector of a search query, from the cache or the provider. Undefined if it is unavailable; only words are searched then. */
  embedQuery(text: string, options: EmbedOptions): Promise<Int8Array | undefined>;
  /** Opens after consecutive failures. After a pause one request is tried. */
  breaker(): 'closed' | 'open' | 'half-open';
}

export interface EmbedOptions {
  principal: Principal;
  /** The agent whose budget is used. */
  agentId: string;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** Characters of a text that are embedded. */
const MAX_CHARS = 24_000;
const FAILURE_THRESHOLD = 3;
const OPEN_TIMEOUT_MS = 30_000;

export interface VectorMakerDeps {
  bus: Bus;
  settings: Settings<'embedding' | 'memory'>;
  now: () => number;
  queryVectors: Pick<QueryVectorCache, 'get' | 'put'>;
  local: Pick<LocalModel, 'model' | 'embed'>;
}

/** Defaults of the memory section. With these values the embedding section applies. */
const { embeddingModel: DEFAULT_MODEL, embeddingDimensions: DEFAULT_DIMENSIONS } = sections.memory.parse({});

function resolveModel({ embedding: { openai }, memory }: Settings<'embedding' | 'memory'>['current']): {
  model: string;
  dimensions: number;
} {
  const { embeddingModel, embeddingDimensions } = memory;
  return {
    model: embeddingModel === DEFAULT_MODEL ? openai.model : embeddingModel,
    dimensions: embeddingDimensions === DEFAULT_DIMENSIONS ? openai.dimensions : embeddingDimensions,
  };
}

export function createVectorMaker({ bus, settings, now, queryVectors, local }: VectorMakerDeps): VectorMaker {
  let [failures, openUntil] = [0, 0];

  function model(): VectorModel | undefined {
    const { enabled, provider } = settings.current.embedding;
    if (enabled && provider === 'local') return local.model();
    if (!enabled || provider !== 'openai') return undefined;
    const { model: name, dimensions } = resolveModel(settings.current);
    return { name: `openai/${name}@${dimensions}`, dimensions };
  }

  function breaker(): 'closed' | 'open' | 'half-open' {
    if (failures < FAILURE_THRESHOLD) return 'closed';
    return now() < openUntil ? 'open' : 'half-open';
  }

  async function embedWithProvider(input: string[], { principal, agentId, timeoutMs, signal }: EmbedOptions): Promise<Float32Array[]> {
    const { model: name, dimensions } = resolveModel(settings.current);
    const answer = await bus
      .as(principal)
      .call('models.embed', { model: name, input, dimensions, agentId }, { timeoutMs, ...(signal ? { signal } : {}) });
    return answer.vectors.map(decodeVector);
  }

  async function make(texts: readonly string[], options: EmbedOptions): Promise<Int8Array[]> {
    const { signal } = options;
    const input = texts.map((text) => text.slice(0, MAX_CHARS).toWellFormed());
    try {
      const isLocal = settings.current.embedding.provider === 'local';
      const vectors = await (isLocal ? embedLocally(local, input, options) : embedWithProvider(input, options));
      failures = 0;
      return vectors.map(quantizeVector);
    } catch (error) {
      // A cancelled call, a rejected text and an exhausted budget are not failures of the provider.
      if (signal?.aborted !== true && !isRefusal(error) && getBudgetRetryMs(error) === undefined && ++failures >= FAILURE_THRESHOLD)
        openUntil = now() + OPEN_TIMEOUT_MS;
      throw error;
    }
  }

  async function embedQuery(text: string, options: EmbedOptions): Promise<Int8Array | undefined> {
    const currentModel = model();
    if (currentModel === undefined) return undefined;
    const key = { tenant: options.principal.tenant, model: currentModel.name, text };
    try {
      const cached = await queryVectors.get(key);
      if (cached || breaker() === 'open') return cached;
      const [vector] = await make([text], options);
      if (vector) queryVectors.put(key, vector);
      return vector;
    } catch (error) {
      if (error instanceof ServiceError) return undefined; // search without vectors
      throw error;
    }
  }

  return { model, make, embedQuery, breaker };
}

/** Limits the wait. The local model still completes the work. */
function embedLocally(local: Pick<LocalModel, 'embed'>, input: string[], { signal, timeoutMs }: EmbedOptions): Promise<Float32Array[]> {
  const timeout = Promise.withResolvers<never>();
  const error = new ServiceError('DEADLINE_EXCEEDED', 'the local model did not answer in time');
  const timer = setTimeout(() => timeout.reject(error), timeoutMs);
  return Promise.race([local.embed(input, signal), timeout.promise]).finally(() => clearTimeout(timer));
}

/** Whether the provider rejected the text, so that a retry is useless. */
export function isRefusal(error: unknown): boolean {
  return error instanceof ServiceError && ['INVALID_ARGUMENT', 'OUT_OF_RANGE', 'FAILED_PRECONDITION'].includes(error.code);
}

/** For an exhausted budget: milliseconds until it is available again. */
export function getBudgetRetryMs(error: unknown): number | undefined {
  if (!(error instanceof ServiceError) || error.details.reason !== 'BUDGET_EXCEEDED') return undefined;
  const { retryAfterMs } = error.details;
  return typeof retryAfterMs === 'number' ? retryAfterMs : 0;
}

/** Decodes base64 of little-endian float32. */
function decodeVector(vector: string): Float32Array {
  const bytes = Buffer.from(vector, 'base64');
  return Float32Array.from({ length: bytes.length >> 2 }, (_, at) => bytes.readFloatLE(at * 4));
}
