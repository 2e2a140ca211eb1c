import { createHash } from 'node:crypto';
import type { ModelRequest } from '../model/model.ts';
import { retentionOf } from '../chat/cache-retention.ts';

/** What is kept must be worth it, and its owner refuses to keep less than some thousand tokens. */
const LEAST_CHARS = 16_384;
const TTL_MS = { short: 300_000, long: 3_600_000 };
/** One that ends so soon is not used any more: the request takes time to arrive. */
const MARGIN_MS = 30_000;
/** Where keeping was refused, it is not asked for again for so long. */
const REFUSED_MS = 600_000;

/** Keeps the beginnings of prompts at the upstream. */
export interface Keeper {
  /** Keeps this for so long; gives its name there. */
  create(content: object, ttlMs: number): Promise<string>;
  /** Never fails. */
  remove(name: string): Promise<void>;
}

interface Kept {
  /** Undefined while it is being made, and where that was refused. */
  name: string | undefined;
  until: number;
}

/** A request as it is sent: with the name of what the upstream keeps in place of that, where it keeps it. */
export interface Shortened {
  body: string;
  /** The upstream does not have it any more, whatever it had promised. */
  lost?: () => void;
}

/**
 * What stands at the beginning of every prompt of an agent, its instructions and its tools, is kept at the upstream under a name, and
 * sent no more. Nobody waits for that: the request that finds nothing kept is sent whole, and the next one finds it.
 */
export class PromptCaches {
  readonly #kept = new Map<string, Kept>();
  readonly #keeper: Keeper;
  readonly #now: () => number;

  constructor(keeper: Keeper, now: () => number = Date.now) {
    this.#keeper = keeper;
    this.#now = now;
  }

  shorten(body: string, request: Pick<ModelRequest, 'wishes' | 'model'>): Shortened {
    const { enabled, maxActiveCaches } = request.wishes?.geminiCache ?? { enabled: false, maxActiveCaches: 0 };
    if (!enabled) return { body };
    const { systemInstruction, tools, toolConfig, ...rest } = JSON.parse(body) as Record<string, unknown>;
    const model = `models/${request.model.modelId}`;
    const content = { model, systemInstruction, tools, toolConfig };
    const written = JSON.stringify(content);
    if (written.length < LEAST_CHARS) return { body };
    const key = createHash('sha256').update(written).digest('base64');
    const known = this.#kept.get(key);
    if (known === undefined || known.until <= this.#now()) {
      this.#keep(key, content, { ttlMs: TTL_MS[retentionOf(request) === 'long' ? 'long' : 'short'], most: maxActiveCaches });
      return { body };
    }
    if (known.name === undefined) return { body };
    // The one that was used last is forgotten last.
    this.#kept.delete(key);
    this.#kept.set(key, known);
    return { body: JSON.stringify({ ...rest, cachedContent: known.name }), lost: () => void this.#kept.delete(key) };
  }

  #keep(key: string, content: object, { ttlMs, most }: { ttlMs: number; most: number }): void {
    this.#kept.delete(key);
    this.#makeRoom(most);
    const making: Kept = { name: undefined, until: this.#now() + REFUSED_MS };
    this.#kept.set(key, making);
    const until = this.#now() + ttlMs - MARGIN_MS;
    this.#keeper.create(content, ttlMs).then(
      (name) => {
        // Room was made for another meanwhile.
        if (this.#kept.get(key) === making) this.#kept.set(key, { name, until });
        else void this.#keeper.remove(name);
      },
      () => undefined, // it is sent whole, as before
    );
  }

  /** What nobody used for longest goes, at the upstream too: it costs there by the hour. */
  #makeRoom(most: number): void {
    for (const [key, { name, until }] of this.#kept) {
      if (this.#kept.size < most && until > this.#now()) continue;
      this.#kept.delete(key);
      if (name !== undefined && until > this.#now()) void this.#keeper.remove(name);
    }
  }
}
