import { LRUCache } from 'lru-cache';
import type { StreamPart } from './native-apis.ts';

/** What a library wants back with a part as it came. */
export type Metadata = NonNullable<Extract<StreamPart, { type: 'tool-call' }>['providerMetadata']>;

export interface Thought {
  text: string;
  metadata: Metadata;
}

/** What came with a call: what was thought before it, and what the upstream signed it with. */
export interface WithCall {
  thoughts: readonly Thought[];
  metadata: Metadata | undefined;
}

/** Characters of cached thoughts; the least recently used are evicted first. */
const MAX_CHARS = 4 * 1024 * 1024;

/**
 * What models thought before their calls, by the conversation and the ids of its calls. Some wires want to see it again, signed as it was,
 * with the results. Ids alone would not do: callers choose them, and some upstreams count them anew in each answer, so that of one
 * conversation would be told to another. It is kept for as long as there is room: whoever does not have it, as a process that took a turn
 * over, asks without.
 */
export class Thoughts {
  readonly #kept = new LRUCache<string, WithCall & { at: number }>({ maxSize: MAX_CHARS, sizeCalculation: charsOf });
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  keep(conversation: string, callId: string, kept: WithCall): void {
    this.#kept.set(keyOf(conversation, callId), { ...kept, at: this.#now() });
  }

  /** Nothing where that is longer ago than `withinMs`: signatures are not for ever. */
  of(conversation: string, callId: string, withinMs = Infinity): WithCall | undefined {
    const kept = this.#kept.get(keyOf(conversation, callId));
    return kept !== undefined && this.#now() - kept.at <= withinMs ? kept : undefined;
  }
}

function charsOf({ thoughts }: WithCall, key: string): number {
  return thoughts.reduce((sum, { text, metadata }) => sum + text.length + JSON.stringify(metadata).length, key.length);
}

/** The same for no other pair, whatever characters they have. */
function keyOf(conversation: string, callId: string): string {
  return `${conversation.length} ${conversation}${callId}`;
}
