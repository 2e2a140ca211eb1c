/** Maximum number of events within a sliding window. */
export interface Rate {
  max: number;
  windowMs: number;
}

/** A key is a list of parts, so that client input cannot collide with other keys: `['env.set', tenant, client]`. */
export type Key = readonly [string, ...string[]];

/**
 * Cache shared by the replicas of a service. Its content may be lost at any time. While the server is unreachable each replica counts on
 * its own, and no call fails. Invalid arguments throw a `ServiceError`.
 */
export interface Cache {
  /** Whether other processes share the entries. */
  readonly shared: boolean;
  /**
   * Counts `amount` events (default 1) and resolves with 0. If the rate is exceeded, it counts nothing and resolves with the time to wait
   * in milliseconds, or Infinity if `amount` exceeds the rate's maximum.
   */
  take(key: Key, rate: Rate, amount?: number): Promise<number>;
  /**
   * Adds to a counter and resolves with the sum. `amount` may be negative. The counter starts at 0 and expires `ttlMs` after its first use.
   */
  add(key: Key, amount: number, ttlMs: number): Promise<number>;
  /** Returns 0 for a missing counter. */
  count(key: Key): Promise<number>;
  /**
   * Returns undefined if the entry is missing, expired or evicted. Never returns a value older than the last write or deletion of this
   * replica.
   */
  get(key: Key): Promise<string | undefined>;
  /** Stores a text of at most `MAX_VALUE_BYTES`. Throws OUT_OF_RANGE for longer ones. */
  set(key: Key, value: string, ttlMs: number): Promise<void>;
  delete(key: Key): Promise<void>;
  /**
   * Opens a board for notes between replicas. A note is kept for `keepMs`; a board keeps its newest `MAX_NOTES` notes. Sends nothing to the
   * server.
   */
  board(key: Key, keepMs: number): Board;
  close(): Promise<void>;
}

/** Larger data belongs into a blob or a document. */
export const MAX_VALUE_BYTES = 256 * 1024;
/** Longest TTL of any entry. */
export const MAX_TTL_MS = 31 * 24 * 60 * 60 * 1_000;
/** Notes of a board. A new reader does not see older ones. */
export const MAX_NOTES = 1_024;

/** One reader and writer of a board. */
export interface Board {
  /**
   * Publishes a note, if given, and resolves with the notes of other replicas since the last call, oldest first. The first call returns all
   * stored notes. A note has at most `MAX_VALUE_BYTES`; longer ones throw OUT_OF_RANGE. While the server is unreachable the note is lost;
   * notes of others are returned later. One call returns a bounded number of notes, the next call the rest.
   */
  exchange(note?: string): Promise<Note[]>;
}

export interface Note {
  text: string;
  /** Age of the note. */
  ageMs: number;
}
