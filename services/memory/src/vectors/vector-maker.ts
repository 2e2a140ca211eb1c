import type { Bus } from '@switchyard/bus';
import { ServiceError, type Principal } from '@switchyard/contracts';
import type { Settings } from '@switchyard/service-kit';
import { toBytes, type VectorModel } from '@switchyard/store';

/** Asks a provider for vectors, where the configuration names one. */
export interface VectorMaker {
  /** How vectors are made now; undefined while no provider makes them. */
  model(): VectorModel | undefined;
  /** One for each text, in their order. Throws what the provider's refusal was. */
  make(texts: readonly string[], given: Asking): Promise<Int8Array[]>;
  /** The vector of a question, remembered or made in time. Undefined where nobody makes one: words alone are searched then. */
  ofQuestion(text: string, given: Asking): Promise<Int8Array | undefined>;
  stats(): { size: number; hits: number; misses: number; evictions: number };
  /** Open after failures in a row: nobody is asked for a while. Then one is tried. */
  breaker(): 'closed' | 'open' | 'half-open';
}

export interface Asking {
  principal: Principal;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** What a model reads of a text at most; by then the text has said what it is about. */
const MOST_CHARS = 24_000;
const FAILURES_IN_A_ROW = 3;
const OPEN_MS = 30_000;

export function createVectorMaker({ bus, settings, now }: { bus: Bus; settings: Settings<'embedding'>; now: () => number }): VectorMaker {
  const kept = new Map<string, Int8Array>();
  const counts = { hits: 0, misses: 0, evictions: 0 };
  let [failures, openUntil] = [0, 0];

  function model(): VectorModel | undefined {
    const { enabled, provider, openai } = settings.current.embedding;
    if (!enabled || provider !== 'openai') return undefined;
    return { name: `openai/${openai.model}@${openai.dimensions}`, dimensions: openai.dimensions };
  }

  function breaker(): 'closed' | 'open' | 'half-open' {
    if (failures < FAILURES_IN_A_ROW) return 'closed';
    return now() < openUntil ? 'open' : 'half-open';
  }

  async function make(texts: readonly string[], { principal, timeoutMs, signal }: Asking): Promise<Int8Array[]> {
    const { model: name, dimensions } = settings.current.embedding.openai;
    const input = texts.map((text) => text.slice(0, MOST_CHARS).toWellFormed());
    try {
      const answer = await bus
        .as(principal)
        .call('models.embed', { model: name, input, dimensions }, { timeoutMs, ...(signal ? { signal } : {}) });
      failures = 0;
      return answer.vectors.map((vector) => toBytes(numbersOf(vector)));
    } catch (error) {
      // Whoever left, and a text that was refused, say nothing of the provider.
      if (signal?.aborted !== true && !isRefusal(error) && ++failures >= FAILURES_IN_A_ROW) openUntil = now() + OPEN_MS;
      throw error;
    }
  }

  function remember(key: string, vector: Int8Array): void {
    const most = settings.current.embedding.cache.maxEntries;
    if (most > 0) kept.set(key, vector);
    const [oldest] = kept.keys();
    if (kept.size > most && oldest !== undefined) {
      kept.delete(oldest);
      counts.evictions += 1;
    }
  }

  async function ofQuestion(text: string, given: Asking): Promise<Int8Array | undefined> {
    const by = model();
    if (by === undefined) return undefined;
    const key = `${by.name}\n${text}`;
    const known = kept.get(key);
    if (known) {
      counts.hits += 1;
      kept.delete(key);
      kept.set(key, known);
      return known;
    }
    counts.misses += 1;
    if (breaker() === 'open') return undefined;
    try {
      const [vector] = await make([text], given);
      if (vector) remember(key, vector);
      return vector;
    } catch (error) {
      if (error instanceof ServiceError) return undefined; // a search without vectors is better than none
      throw error;
    }
  }

  return { model, make, ofQuestion, breaker, stats: () => ({ size: kept.size, ...counts }) };
}

/** The text was not taken: another try has no other end. */
export function isRefusal(error: unknown): boolean {
  return error instanceof ServiceError && ['INVALID_ARGUMENT', 'OUT_OF_RANGE', 'FAILED_PRECONDITION'].includes(error.code);
}

/** From base64 of little-endian float32. */
function numbersOf(vector: string): Float32Array {
  const bytes = Buffer.from(vector, 'base64');
  return Float32Array.from({ length: bytes.length >> 2 }, (_, at) => bytes.readFloatLE(at * 4));
}
