import type { Collection } from 'mongodb';
import type { Document } from '../port/collection.ts';
import type { Shape } from '../port/collection-shape.ts';

/** An event that is kept until it is published. */
export interface OwedEntry {
  id: string;
  name: string;
  /** JSON. */
  payload: string;
}

/**
 * A document as MongoDB keeps it. One that was removed while it owed events stays without `tenant` and `doc`, so that no query sees
 * it, until they are paid.
 */
export interface Kept {
  /** Tenant and key: orders by one, then the other. */
  _id: string;
  tenant?: string;
  /** Whose it was, once it was removed. */
  gone?: string;
  /** Grows with each change of the document. */
  rev: number;
  /** At least its size as JSON. */
  bytes: number;
  doc?: Document;
  /** The values of each unique set that it has whole, as one text each. */
  unique?: Record<string, string>;
  owed?: OwedEntry[];
  /** The id of the last of them. */
  last?: string;
  /** Until when somebody publishes them, and who: orders by time. */
  claim?: string;
  /** How often publishing them failed. */
  failures?: number;
}

/** A collection as MongoDB has it. */
export interface KeptCollection extends Shape {
  documents: Collection<Kept>;
  /** The fields of each unique set, by its name in `unique`. */
  unique: ReadonlyMap<string, readonly string[]>;
}

/** No tenant has a NUL in its name, so that no two have the same. */
export function idOf(tenant: string, key: string): string {
  return `${tenant}\0${key}`.toWellFormed();
}

/** The unique sets that a document has whole: null and absent are one thing. */
export function uniqueOf({ unique }: Pick<KeptCollection, 'unique'>, tenant: string, document: Document): Record<string, string> {
  const values: Record<string, string> = {};
  for (const [name, fields] of unique) {
    const set = fields.map((field) => document[field] ?? null);
    if (!set.includes(null)) values[name] = uniqueText(tenant, set);
  }
  return values;
}

export function uniqueText(tenant: string, values: readonly unknown[]): string {
  return JSON.stringify([tenant, ...values]);
}
