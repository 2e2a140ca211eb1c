import type { Principal } from '@switchyard/contracts';
import type { AnyCollectionSpec, Document, DocumentOf } from './collection.ts';

type Comparable = string | number | boolean | null;

type ArrayEntry<T> = T extends readonly (infer I)[] ? I & Comparable : never;

/**
 * Equality, ranges, membership, presence; of a list, what it has or lacks. Null and absent are one thing. A comparison finds values
 * of its own type alone, and booleans are no numbers.
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

/** An event that must not be lost: kept in the document by the same write, published from there. */
export interface OutboxEvent {
  name: string;
  payload: unknown;
}

/** What a write may say of itself. */
interface WriteOptions {
  emit?: readonly OutboxEvent[];
  /**
   * Another write of this store follows at once, and nobody is told of this one before that one has settled. So this one may settle
   * when it is written, and not on the disk yet: what follows settles once both are, and fails where either may not be.
   */
  deferSync?: true;
}

export interface Change<D> extends WriteOptions {
  set?: Partial<D>;
  unset?: readonly (keyof D & string)[];
  inc?: { [F in keyof D & string]?: number };
  /** Appends to an array field. */
  push?: { [F in keyof D & string]?: NonNullable<D[F]> extends readonly (infer I)[] ? I : never };
  /** Takes every such entry out of an array field. */
  pull?: { [F in keyof D & string]?: ArrayEntry<NonNullable<D[F]>> };
  /** Besides the filter: a guard that misses changes nothing and gives null. */
  if?: Filter<D>;
}

export interface FindOptions<D> {
  sort?: readonly (readonly [field: keyof D & string, order: 'asc' | 'desc'])[];
  /** At most this many; 100 unless said. */
  limit?: number;
  /** From the page before; opaque. */
  cursor?: string;
}

export interface Page<D> {
  items: D[];
  /** Present when there is more. */
  cursor?: string;
}

/**
 * The documents of one tenant (`for`) or of all (`system`). Everything is one document, atomically. A write that would make a document
 * larger than 1 MiB fails OUT_OF_RANGE, and nothing is written.
 */
export interface Documents<D extends Document> {
  get(key: string): Promise<D | null>;
  /** ALREADY_EXISTS when the key or a unique set is taken (`details.unique` names the fields). */
  insert(document: D, options?: WriteOptions): Promise<D>;
  /** Puts the whole document in place of the one with its key, or inserts it. Null when the guard misses. */
  replace(document: D, options?: { if?: Filter<D>; emit?: readonly OutboxEvent[] }): Promise<D | null>;
  /** Changes the first document that matches and returns it as it is now; null when none does. */
  update(filter: Filter<D>, change: Change<D>): Promise<D | null>;
  /** As update, on the first match in an order: taking work from a queue. Of concurrent claims on one document one wins. */
  claim(filter: Filter<D>, change: Change<D>, options?: Pick<FindOptions<D>, 'sort'>): Promise<D | null>;
  find(filter: Filter<D>, options?: FindOptions<D>): Promise<Page<D>>;
  count(filter: Filter<D>): Promise<number>;
  /** How many were removed. One by one: a failure in between leaves the rest. */
  remove(filter: Filter<D>): Promise<number>;
}

export interface Collection<D extends Document> {
  /** The name of the field that is the key. */
  readonly key: string;
  /** The documents of this principal's tenant, and no others. */
  for(principal: Pick<Principal, 'tenant'>): Documents<D>;
  /** Every tenant's, for code that truly works across them (sweepers); what it reads names its tenant. Each query needs an index declared `across`. */
  system(): Omit<Documents<D & { tenant: string }>, 'get' | 'insert' | 'replace'>;
}

/** Where the events of writes go; resolving means it is held durably. The id is stable across retries. */
export type Publish = (event: { id: string; name: string; payload: unknown; tenant: string }) => Promise<void>;

/** Where a store says what went wrong behind the scenes; a `Logger` is one. */
export interface StoreLog {
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface StoreOptions {
  /** Whose documents; names the database. */
  service: string;
  /** Where they are kept in a file: that one, and not one named after the service. */
  file?: string;
  log?: StoreLog;
  /** Refuses a query across tenants that no index serves. For tests and development. */
  strict?: boolean;
}

/** One service's documents. */
export interface Store {
  /** Names the database, once it is there: stores with the same one share their documents. A copy has another. */
  readonly identity: string;
  /** Whether the database can be reached now; left out by one that is a part of the process. */
  readonly connected?: () => boolean;
  open<Specs extends Record<string, AnyCollectionSpec>>(specs: Specs): Promise<{ [N in keyof Specs]: Collection<DocumentOf<Specs[N]>> }>;
  /** The database's clock, epoch milliseconds. Leases use it. */
  now(): number;
  /**
   * From now on the events of writes are published: those of one document in order, a hundred documents at once. Whoever wrote
   * publishes; what a dead replica left is taken over after five seconds. What fails is tried again. An event refused for what it is
   * (INVALID_ARGUMENT, FAILED_PRECONDITION) is set aside, so that it does not hold up the rest.
   */
  publishTo(publish: Publish): Promise<void>;
  /** Publishes what is owed, within a few seconds, then closes. */
  close(): Promise<void>;
}
