import type { Document } from '../port/collection.ts';
import { isScalar, type Scalar } from '../port/cursor.ts';
import { misuseError } from '../port/store-misuse.ts';
import { requireComparable } from '../port/collection-shape.ts';
import { createDocumentId, type StoredCollection } from './stored-document.ts';
import { resolveColumn, type Query, type Scope } from './query.ts';

export type Sort = readonly (readonly [field: string, direction: 'asc' | 'desc'])[];

interface Term {
  field: string;
  path: string;
  descending: boolean;
  /** The field may have values of several types. */
  mixed: boolean;
}

/** A total order: the requested fields, then the id, so that a cursor is unambiguous. */
export interface Order {
  terms: readonly Term[];
  sort: Record<string, 1 | -1>;
  /** Identifies the order in a cursor. */
  signature: string;
}

export function buildOrder(collection: StoredCollection, scope: Scope, sort: Sort): Order {
  for (const [field] of sort) if (field !== 'tenant' || scope !== null) requireComparable(collection, field);
  const requests = sort.map(([field, direction]) => {
    const { path, list, mixed } = resolveColumn(collection, scope, field);
    if (list) throw misuseError(collection.spec.name, `cannot sort by ${field}`);
    return { field, path, descending: direction === 'desc', mixed };
  });
  // Uses the direction of the last field, so that an index can be scanned in one direction.
  const tie = { field: collection.spec.key, path: '_id', descending: requests.at(-1)?.descending ?? false, mixed: false };
  const terms = requests.some(({ path }) => path === '_id') ? requests : [...requests, tie];
  return {
    terms,
    sort: Object.fromEntries(terms.map(({ path, descending }) => [path, descending ? -1 : 1])),
    signature: terms.map(({ path, descending }) => (descending ? `-${path}` : path)).join(' '),
  };
}

/** Returns the sort values of a document. */
export function getCursorPosition({ spec }: StoredCollection, { terms }: Order, document: Document): Scalar[] {
  return terms.map(({ field, path }) => {
    const value = document[field] ?? null;
    if (!isScalar(value)) throw misuseError(spec.name, `cannot sort by ${field}`);
    return path === '_id' && typeof document['tenant'] === 'string' ? createDocumentId(document['tenant'], String(value)) : value;
  });
}

/** Selects the documents after a position: greater in one term and equal in all earlier terms. Null sorts first. */
export function buildCursorCondition({ terms }: Order, scope: Scope, position: readonly Scalar[]): Query {
  const values = terms.map(({ path }, n) => {
    const value = position[n] ?? null;
    return path === '_id' && scope !== null ? createDocumentId(scope, String(value)) : value;
  });
  const alternatives = terms.flatMap((term, n) => {
    const level = terms.slice(0, n).map(({ path }, i) => ({ [path]: values[i] }));
    return buildAfter(term, values[n] ?? null).map((one) => ({ $and: [...level, one] }));
  });
  return alternatives.length === 0 ? { _id: { $in: [] } } : { $or: alternatives };
}

/** MongoDB sorts null, numbers, text, booleans in this order, and compares only values of the same type. */
const TYPES = ['number', 'string', 'boolean'];
const BSON_TYPES = ['number', 'string', 'bool'];

function buildAfter({ path, descending, mixed }: Term, value: Scalar): Query[] {
  if (value === null) return descending ? [] : [{ [path]: { $ne: null } }];
  const rank = TYPES.indexOf(typeof value);
  const others = !mixed ? [] : descending ? BSON_TYPES.slice(0, rank) : BSON_TYPES.slice(rank + 1);
  const further = [{ [descending ? '$lt' : '$gt']: value }, ...others.map(($type) => ({ $type })), ...(descending ? [null] : [])];
  return further.map((one) => ({ [path]: one }));
}
