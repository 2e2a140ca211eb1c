import { createHash } from 'node:crypto';
import type { ModelRequest } from '../model/model.ts';
import { getRetention } from '../chat/cache-retention.ts';

/** Minimum size. The provider rejects caches of fewer than some thousand tokens. */
const MIN_CACHED_CHARS = 16_384;
const TTL_MS = { short: 300_000, long: 3_600_000 };
/** A cache is not used within this time before its expiry, because the request takes time to arrive. */
const MARGIN_MS = 30_000;
/** Time until a rejected prompt is cached again. */
const REFUSED_TTL_MS = 600_000;

/** Manages cached prompt prefixes at the provider. */
export interface PromptCacheClient {
  /** Creates a cache and returns its name. */
  create(content: object, ttlMs: number): Promise<string>;
  /** Removes a cache. Never rejects. */
  remove(name: string): Promise<void>;
}

interface CachedPrompt {
  /** Undefined while the cache is being created, and if that was rejected. */
  name: string | undefined;
  until: number;
}

/** A request body that may refer to a cache instead of the prefix. */
export interface PromptCacheResult {
  body: string;
  /** Called if the cache no longer exists at the provider. */
  onMissing?: () => void;
}

/**
 * Caches the prompt prefix of an agent, its instructions and tools, at the provider and sends only the cache name. Creation is
 * asynchronous: the first request sends the complete prompt, and later ones use the cache.
 */
export class PromptCaches {
  readonly #kept = new Map<string, CachedPrompt>();
  readonly #keeper: PromptCacheClient;
  readonly #now: () => number;

  constructor(keeper: PromptCacheClient, now: () => number = Date.now) {
    this.#keeper = keeper;
    this.#now = now;
  }

  apply(body: string, request: Pick<ModelRequest, 'preferences' | 'model'>): PromptCacheResult {
    const { enabled, maxActiveCaches } = request.preferences?.geminiCache ?? { enabled: false, maxActiveCaches: 0 };
    if (!enabled) return { body };
    const { systemInstruction, tools, toolConfig, ...rest } = JSON.parse(body) as Record<string, unknown>;
    const model = `models/${request.model.modelId}`;
    const content = { model, systemInstruction, tools, toolConfig };
    const serialized = JSON.stringify(content);
    if (serialized.length < MIN_CACHED_CHARS) return { body };
    const key = createHash('sha256').update(serialized).digest('base64');
    const cached = this.#kept.get(key);
    if (cached === undefined || cached.until <= this.#now()) {
      this.#keep(key, content, { ttlMs: TTL_MS[getRetention(request) === 'long' ? 'long' : 'short'], maxCaches: maxActiveCaches });
      return { body };
    }
    if (cached.name === undefined) return { body };
    // Moves the entry to the end, because the least recently used one is removed first.
    this.#kept.delete(key);
    this.#kept.set(key, cached);
    return { body: JSON.stringify({ ...rest, cachedContent: cached.name }), onMissing: () => void this.#kept.delete(key) };
  }

  #keep(key: string, content: object, { ttlMs, maxCaches }: { ttlMs: number; maxCaches: number }): void {
    this.#kept.delete(key);
    this.#makeRoom(maxCaches);
    const pending: CachedPrompt = { name: undefined, until: this.#now() + REFUSED_TTL_MS };
    this.#kept.set(key, pending);
    const deadline = this.#now() + ttlMs - MARGIN_MS;
    this.#keeper.create(content, ttlMs).then(
      (name) => {
        // The entry may have been evicted meanwhile.
        if (this.#kept.get(key) === pending) this.#kept.set(key, { name, until: deadline });
        else void this.#keeper.remove(name);
      },
      () => undefined, // the complete prompt is sent, as before
    );
  }

  /** Removes the least recently used caches, also at the provider, which charges by the hour. */
  #makeRoom(maxCaches: number): void {
    for (const [key, { name, until }] of this.#kept) {
      if (this.#kept.size < maxCaches && until > this.#now()) continue;
      this.#kept.delete(key);
      if (name !== undefined && until > this.#now()) void this.#keeper.remove(name);
    }
  }
}
