import type { Collection } from 'mongodb';
import type { Document } from '../port/collection.ts';
import type { CollectionShape } from '../port/collection-shape.ts';

/** A pending event. */
export interface OutboxEntry {
  id: string;
  name: string;
  /** JSON. */
  payload: string;
}

/**
 * A document in MongoDB. A deleted document with pending events stays without `tenant` and `doc`, invisible to queries, until the events
 * are published.
 */
export interface StoredDocument {
  /** Tenant and key; sorts by tenant, then key. */
  _id: string;
  tenant?: string;
  /** The tenant of a deleted document. */
  deletedTenant?: string;
  /** Increases with each change. */
  rev: number;
  /** Upper bound of the size as JSON. */
  bytes: number;
  doc?: Document;
  /** The encoded values of each complete unique set. */
  unique?: Record<string, string>;
  outbox?: OutboxEntry[];
  /** Id of the last pending event. */
  lastEventId?: string;
  /** Lease of the replica that publishes the events (`publication-lease.ts`). */
  lease?: string;
  /** Number of failed attempts to publish. */
  failures?: number;
}

/** A collection in MongoDB. */
export interface StoredCollection extends CollectionShape {
  documents: Collection<StoredDocument>;
  /** Fields of each unique set, by name in `unique`. */
  unique: ReadonlyMap<string, readonly string[]>;
}

/** Tenant names contain no NUL, so ids are unambiguous. */
export function createDocumentId(tenant: string, key: string): string {
  return `${tenant}\0${key}`.toWellFormed();
}

/** Returns the unique sets of which the document has all values. Null counts as absent. */
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
