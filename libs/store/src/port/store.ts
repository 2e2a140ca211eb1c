import type { Principal } from '@switchyard/contracts';
import type { AnyCollectionSpec, Document, DocumentOf } from './collection.ts';

type Comparable = string | number | boolean | null;

type ArrayEntry<T> = T extends readonly (infer I)[] ? I & Comparable : never;

/**
 * A condition on a field: equality, range, membership, presence, and for arrays `has` or `lacks`. Null and absent are equal. A
 * comparison matches only values of its own type; booleans are not numbers.
 */
export type Condition<T> =
  | T
  | null
  | {
      lt?: T;
      lte?: T;
      gt?: T;
      gte?: T;
      ne?: T | null;
      in?: readonly ((T & Comparable) | null)[];
      exists?: boolean;
      has?: ArrayEntry<T>;
      lacks?: ArrayEntry<T>;
    };

export type Filter<D> = { [F in keyof D & string]?: Condition<NonNullable<D[F]>> };

/** An event that is stored by the same write as its document and published from there, so that it cannot be lost. */
export interface OutboxEvent {
  name: string;
  payload: unknown;
}

interface WriteOptions {
  emit?: readonly OutboxEvent[];
  /**
   * Resolves the write before it is synced to disk. Set this if another write of the same store follows at once: that write resolves
   * after both are synced, and fails if either is not. The caller must not report success in between.
   */
  deferSync?: true;
}

export interface Change<D> extends WriteOptions {
  set?: Partial<D>;
  unset?: readonly (keyof D & string)[];
  inc?: { [F in keyof D & string]?: number };
  /** Appends to an array field. */
  push?: { [F in keyof D & string]?: NonNullable<D[F]> extends readonly (infer I)[] ? I : never };
  /** Removes all equal entries from an array field. */
  pull?: { [F in keyof D & string]?: ArrayEntry<NonNullable<D[F]>> };
  /** An additional condition. If it does not match, nothing changes and the result is null. */
  if?: Filter<D>;
}

export interface FindOptions<D> {
  sort?: readonly (readonly [field: keyof D & string, order: 'asc' | 'desc'])[];
  /** Defaults to 100. */
  limit?: number;
  /** The cursor of the previous page. */
  cursor?: string;
}

export interface Page<D> {
  items: D[];
  /** Present if there are more documents. */
  cursor?: string;
}

/**
 * The documents of one tenant (`for`) or of all tenants (`system`). Each write changes one document atomically. A write that makes a
 * document larger than 1 MiB fails OUT_OF_RANGE and writes nothing.
 */
export interface Documents<D extends Document> {
  get(key: string): Promise<D | null>;
  /** Fails ALREADY_EXISTS if the key or a unique set exists (`details.unique` has the fields). */
  insert(document: D, options?: WriteOptions): Promise<D>;
  /** Replaces the document with the same key, or inserts it. Returns null if the guard `if` does not match. */
  replace(document: D, options?: WriteOptions & { if?: Filter<D> }): Promise<D | null>;
  /** Changes the first matching document and returns the result; null if none matches. */
  update(filter: Filter<D>, change: Change<D>): Promise<D | null>;
  /** Like `update`, on the first match in sort order, for taking work from a queue. One of several concurrent claims succeeds. */
  claim(filter: Filter<D>, change: Change<D>, options?: Pick<FindOptions<D>, 'sort'>): Promise<D | null>;
  find(filter: Filter<D>, options?: FindOptions<D>): Promise<Page<D>>;
  count(filter: Filter<D>): Promise<number>;
  /** Returns the number of removed documents. Not atomic: after a failure some documents may remain. */
  remove(filter: Filter<D>): Promise<number>;
}

export interface Collection<D extends Document> {
  /** Name of the key field. */
  readonly key: string;
  /** The documents of the principal's tenant. */
  for(principal: Pick<Principal, 'tenant'>): Documents<D>;
  /** The documents of all tenants, for sweepers. Results have a `tenant` field. Each query needs an index declared `across`. */
  system(): Omit<Documents<D & { tenant: string }>, 'get' | 'insert' | 'replace'>;
}

/** Publishes an event. Resolves when the event is durable. The id is the same in all retries. */
export type Publish = (event: { id: string; name: string; payload: unknown; tenant: string }) => Promise<void>;

/** Log for background errors. `Logger` implements it. */
export interface StoreLog {
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface StoreOptions {
  /** The service; determines the name of the database. */
  service: string;
  /** SQLite file; defaults to a file named after the service. */
  file?: string;
  log?: StoreLog;
  /** Rejects cross-tenant queries without a matching index. For tests and development. */
  strict?: boolean;
}

/** The documents of one service. */
export interface Store {
  /** Identifies the database. Stores with the same identity share their documents; a copy of the database has another identity. */
  readonly identity: string;
  /** Returns whether the database is reachable. Undefined for an embedded database. */
  readonly connected?: () => boolean;
  open<Specs extends Record<string, AnyCollectionSpec>>(specs: Specs): Promise<{ [N in keyof Specs]: Collection<DocumentOf<Specs[N]>> }>;
  /** The clock of the database in epoch milliseconds. Leases use it. */
  now(): number;
  /**
   * Starts publishing the events of writes: in order per document, up to 100 documents concurrently. The replica that wrote the event
   * publishes it; other replicas take over after five seconds. Failures are retried. An event that is rejected permanently
   * (INVALID_ARGUMENT, FAILED_PRECONDITION) is stored separately, so that later events are not blocked.
   */
  publishTo(publish: Publish): Promise<void>;
  /** Publishes pending events for at most a few seconds, then closes. */
  close(): Promise<void>;
}
