import type { StreamPart } from './wire.ts';

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

/** Characters of thoughts that are kept; of more, the oldest go. */
const MOST_CHARS = 4 * 1024 * 1024;

/**
 * What models thought before their calls, by the conversation and the ids of its calls. Some wires want to see it again, signed as it was,
 * with the results. Ids alone would not do: callers choose them, and some upstreams count them anew in each answer, so that of one
 * conversation would be told to another. It is kept for as long as there is room: whoever does not have it, as a process that took a turn
 * over, asks without.
 */
export class Thoughts {
  readonly #kept = new Map<string, WithCall & { chars: number; at: number }>();
  readonly #now: () => number;
  #chars = 0;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  keep(conversation: string, callId: string, kept: WithCall): void {
    const key = keyOf(conversation, callId);
    const chars = kept.thoughts.reduce((sum, { text, metadata }) => sum + text.length + JSON.stringify(metadata).length, key.length);
    this.#forget(key);
    this.#kept.set(key, { ...kept, chars, at: this.#now() });
    this.#chars += chars;
    for (const oldest of this.#kept.keys()) {
      if (this.#chars <= MOST_CHARS) return;
      this.#forget(oldest);
    }
  }

  /** Nothing where that is longer ago than `withinMs`: signatures are not for ever. */
  of(conversation: string, callId: string, withinMs = Infinity): WithCall | undefined {
    const kept = this.#kept.get(keyOf(conversation, callId));
    return kept !== undefined && this.#now() - kept.at <= withinMs ? kept : undefined;
  }

  #forget(key: string): void {
    this.#chars -= this.#kept.get(key)?.chars ?? 0;
    this.#kept.delete(key);
  }
}

/** The same for no other pair, whatever characters they have. */
function keyOf(conversation: string, callId: string): string {
  return `${conversation.length} ${conversation}${callId}`;
}
