import type { Collection } from 'mongodb';
import type { Document } from '../port/collection.ts';
import type { CollectionShape } from '../port/collection-shape.ts';

/** An event that is kept until it is published. */
export interface OutboxEntry {
  id: string;
  name: string;
  /** JSON. */
  payload: string;
}

/**
 * A document as MongoDB keeps it. One that was removed while it owed events stays without `tenant` and `doc`, so that no query sees
 * it, until they are paid.
 */
export interface StoredDocument {
  /** Tenant and key: orders by one, then the other. */
  _id: string;
  tenant?: string;
  /** Whose it was, once it was removed. */
  deletedTenant?: string;
  /** Grows with each change of the document. */
  rev: number;
  /** At least its size as JSON. */
  bytes: number;
  doc?: Document;
  /** The values of each unique set that it has whole, as one text each. */
  unique?: Record<string, string>;
  outbox?: OutboxEntry[];
  /** The id of the last of them. */
  lastEventId?: string;
  /** Until when somebody publishes them, and who: orders by time. */
  lease?: string;
  /** How often publishing them failed. */
  failures?: number;
}

/** A collection as MongoDB has it. */
export interface StoredCollection extends CollectionShape {
  documents: Collection<StoredDocument>;
  /** The fields of each unique set, by its name in `unique`. */
  unique: ReadonlyMap<string, readonly string[]>;
}

/** No tenant has a NUL in its name, so that no two have the same. */
export function createDocumentId(tenant: string, key: string): string {
  return `${tenant}\0${key}`.toWellFormed();
}

/** The unique sets that a document has whole: null and absent are one thing. */
export function collectUniqueTexts(
  { unique }: Pick<StoredCollection, 'unique'>,
  tenant: string,
  document: Document,
): Record<string, string> {
  const values: Record<string, string> = {};
  for (const [name, fields] of unique) {
    const set = fields.map((field) => document[field] ?? null);
    if (!set.includes(null)) values[name] = encodeUniqueValues(tenant, set);
  }
  return values;
}

export function encodeUniqueValues(tenant: string, values: readonly unknown[]): string {
  return JSON.stringify([tenant, ...values]);
}
