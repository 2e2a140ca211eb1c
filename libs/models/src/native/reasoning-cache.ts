import { LRUCache } from 'lru-cache';
import type { StreamPart } from './native-apis.ts';

/** Provider metadata that the SDK expects back unchanged. */
export type Metadata = NonNullable<Extract<StreamPart, { type: 'tool-call' }>['providerMetadata']>;

export interface ReasoningBlock {
  text: string;
  metadata: Metadata;
}

/** The reasoning before a tool call, and the signature of the call. */
export interface CallReasoning {
  blocks: readonly ReasoningBlock[];
  metadata: Metadata | undefined;
}

/** Characters of cached thoughts; the least recently used are evicted first. */
const MAX_CHARS = 4 * 1024 * 1024;

/**
 * Caches signed reasoning by conversation and call id. Some APIs require it with the tool results. The key includes the conversation,
 * because call ids are not unique across conversations. A process without the entry, for example after a takeover of the turn, uses the
 * fields of the message (`reasoning-fields.ts`).
 */
export class ReasoningCache {
  readonly #cache = new LRUCache<string, CallReasoning & { at: number }>({ maxSize: MAX_CHARS, sizeCalculation: countChars });
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  set(conversation: string, callId: string, entry: CallReasoning): void {
    this.#cache.set(formatCacheKey(conversation, callId), { ...entry, at: this.#now() });
  }

  /** Whether the reasoning of a call is cached, however old it is. */
  has(conversation: string, callId: string): boolean {
    return this.#cache.has(formatCacheKey(conversation, callId));
  }

  /** Returns the reasoning of a call unless it is older than `withinMs`, because signatures expire. */
  get(conversation: string, callId: string, withinMs = Infinity): CallReasoning | undefined {
    const entry = this.#cache.get(formatCacheKey(conversation, callId));
    return entry !== undefined && this.#now() - entry.at <= withinMs ? entry : undefined;
  }
}

function countChars({ blocks }: CallReasoning, key: string): number {
  return blocks.reduce((sum, { text, metadata }) => sum + text.length + JSON.stringify(metadata).length, key.length);
}

/** Formats an unambiguous key. */
function formatCacheKey(conversation: string, callId: string): string {
  return `${conversation.length} ${conversation}${callId}`;
}
