import type { Bus } from '@switchyard/bus';
import { sections, ServiceError, type Principal } from '@switchyard/contracts';
import type { Settings } from '@switchyard/service-kit';
import { quantizeVector, type VectorModel } from '@switchyard/store';
import type { LocalModel } from './local-model.ts';
import type { QuestionCache } from './query-vector-cache.ts';

/** Asks a provider, or a model in this process, for vectors, where the configuration names one. */
export interface VectorMaker {
  /** How vectors are made now; undefined while no provider makes them. */
  model(): VectorModel | undefined;
  /** One for each text, in their order. Throws what the provider's refusal was. */
  make(texts: readonly string[], given: Asking): Promise<Int8Array[]>;
  /** The vector of a question, remembered or made in time. Undefined where nobody makes one: words alone are searched then. */
  ofQuestion(text: string, given: Asking): Promise<Int8Array | undefined>;
  /** Open after failures in a row: nobody is asked for a while. Then one is tried. */
  breaker(): 'closed' | 'open' | 'half-open';
}

export interface Asking {
  principal: Principal;
  /** Whose budget it is. */
  agentId: string;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** What a model reads of a text at most; by then the text has said what it is about. */
const MOST_CHARS = 24_000;
const FAILURES_IN_A_ROW = 3;
const OPEN_MS = 30_000;

export interface VectorMakerDeps {
  bus: Bus;
  settings: Settings<'embedding' | 'memory'>;
  now: () => number;
  questions: Pick<QuestionCache, 'get' | 'put'>;
  local: Pick<LocalModel, 'model' | 'embed'>;
}

/** As they are shipped, these of memory say nothing: then it is as everybody has it. */
const { embeddingModel: USUAL_MODEL, embeddingDimensions: USUAL_DIMENSIONS } = sections.memory.parse({});

function chosen({ embedding: { openai }, memory }: Settings<'embedding' | 'memory'>['current']): { model: string; dimensions: number } {
  const { embeddingModel, embeddingDimensions } = memory;
  return {
    model: embeddingModel === USUAL_MODEL ? openai.model : embeddingModel,
    dimensions: embeddingDimensions === USUAL_DIMENSIONS ? openai.dimensions : embeddingDimensions,
  };
}

export function createVectorMaker({ bus, settings, now, questions, local }: VectorMakerDeps): VectorMaker {
  let [failures, openUntil] = [0, 0];

  function model(): VectorModel | undefined {
    const { enabled, provider } = settings.current.embedding;
    if (enabled && provider === 'local') return local.model();
    if (!enabled || provider !== 'openai') return undefined;
    const { model: name, dimensions } = chosen(settings.current);
    return { name: `openai/${name}@${dimensions}`, dimensions };
  }

  function breaker(): 'closed' | 'open' | 'half-open' {
    if (failures < FAILURES_IN_A_ROW) return 'closed';
    return now() < openUntil ? 'open' : 'half-open';
  }

  async function ofProvider(input: string[], { principal, agentId, timeoutMs, signal }: Asking): Promise<Float32Array[]> {
    const { model: name, dimensions } = chosen(settings.current);
    const answer = await bus
      .as(principal)
      .call('models.embed', { model: name, input, dimensions, agentId }, { timeoutMs, ...(signal ? { signal } : {}) });
    return answer.vectors.map(numbersOf);
  }

  async function make(texts: readonly string[], given: Asking): Promise<Int8Array[]> {
    const { signal } = given;
    const input = texts.map((text) => text.slice(0, MOST_CHARS).toWellFormed());
    try {
      const here = settings.current.embedding.provider === 'local';
      const vectors = await (here ? withinTime(local, input, given) : ofProvider(input, given));
      failures = 0;
      return vectors.map(quantizeVector);
    } catch (error) {
      // Whoever left, a text that was refused, and a budget that is used up say nothing of the provider.
      if (signal?.aborted !== true && !isRefusal(error) && spentFor(error) === undefined && ++failures >= FAILURES_IN_A_ROW)
        openUntil = now() + OPEN_MS;
      throw error;
    }
  }

  async function ofQuestion(text: string, given: Asking): Promise<Int8Array | undefined> {
    const by = model();
    if (by === undefined) return undefined;
    const question = { tenant: given.principal.tenant, model: by.name, text };
    try {
      const known = await questions.get(question);
      if (known || breaker() === 'open') return known;
      const [vector] = await make([text], given);
      if (vector) questions.put(question, vector);
      return vector;
    } catch (error) {
      if (error instanceof ServiceError) return undefined; // a search without vectors is better than none
      throw error;
    }
  }

  return { model, make, ofQuestion, breaker };
}

/** A search waits only so long; what was begun for it is done all the same. */
function withinTime(local: Pick<LocalModel, 'embed'>, input: string[], { signal, timeoutMs }: Asking): Promise<Float32Array[]> {
  const late = Promise.withResolvers<never>();
  const error = new ServiceError('DEADLINE_EXCEEDED', 'the local model did not answer in time');
  const timer = setTimeout(() => late.reject(error), timeoutMs);
  return Promise.race([local.embed(input, signal), late.promise]).finally(() => clearTimeout(timer));
}

/** The text was not taken: another try has no other end. */
export function isRefusal(error: unknown): boolean {
  return error instanceof ServiceError && ['INVALID_ARGUMENT', 'OUT_OF_RANGE', 'FAILED_PRECONDITION'].includes(error.code);
}

/** Where it is a budget that is used up: how long nothing comes of asking. */
export function spentFor(error: unknown): number | undefined {
  if (!(error instanceof ServiceError) || error.details.reason !== 'BUDGET_EXCEEDED') return undefined;
  const { retryAfterMs } = error.details;
  return typeof retryAfterMs === 'number' ? retryAfterMs : 0;
}

/** From base64 of little-endian float32. */
function numbersOf(vector: string): Float32Array {
  const bytes = Buffer.from(vector, 'base64');
  return Float32Array.from({ length: bytes.length >> 2 }, (_, at) => bytes.readFloatLE(at * 4));
}
