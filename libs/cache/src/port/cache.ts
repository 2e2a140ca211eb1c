/** How much of something may happen within a moving span of time. */
export interface Rate {
  max: number;
  windowMs: number;
}

/** In parts, so that what a caller chose never runs into its neighbour: `['env.set', tenant, client]`. */
export type Key = readonly [string, ...string[]];

/**
 * What the replicas of one service share and may lose: nothing here is the only copy of anything. While the server is away each
 * replica counts on its own, and no call fails for it. A mistake of the caller is a `ServiceError`.
 */
export interface Cache {
  /** Whether other processes see what is kept here. */
  readonly shared: boolean;
  /**
   * Counts `amount` events (1 unless said) and resolves with 0, or counts nothing and resolves with how many milliseconds to wait;
   * Infinity for more at once than the rate ever allows.
   */
  take(key: Key, rate: Rate, amount?: number): Promise<number>;
  /** Adds to a counter, which may go down too, and resolves with the sum. It begins at 0 and ends `ttlMs` after it began. */
  add(key: Key, amount: number, ttlMs: number): Promise<number>;
  /** 0 for a counter that is not there. */
  count(key: Key): Promise<number>;
  /** Undefined when it is not there, has expired or made room for others. Never older than what this replica set or deleted last. */
  get(key: Key): Promise<string | undefined>;
  /** Text of at most `MAX_VALUE_BYTES`; more is OUT_OF_RANGE. */
  set(key: Key, value: string, ttlMs: number): Promise<void>;
  delete(key: Key): Promise<void>;
  /** Where replicas leave notes for each other; each is kept `keepMs`, and the newest `MAX_NOTES` at most. Nothing is asked of a server yet. */
  board(key: Key, keepMs: number): Board;
  close(): Promise<void>;
}

/** What does not fit is a blob or a document. */
export const MAX_VALUE_BYTES = 256 * 1024;
/** Nothing is kept for longer. */
export const MAX_TTL_MS = 31 * 24 * 60 * 60 * 1_000;
/** Of a board; who comes later never sees the older ones. */
export const MAX_NOTES = 1_024;

/** One reader and writer of a board. */
export interface Board {
  /**
   * Leaves a note for the others, if there is one, and resolves with what they have left since the last time, oldest first; the first
   * time with all that is kept. A note has at most `MAX_VALUE_BYTES`; more is OUT_OF_RANGE. While the server is away a note is lost,
   * and what others left meanwhile is read afterwards. What is too much for one answer comes with the next.
   */
  exchange(note?: string): Promise<Note[]>;
}

export interface Note {
  text: string;
  /** How long ago it was left. */
  ageMs: number;
}
