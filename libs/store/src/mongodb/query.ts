import type { Filter as MongoFilter } from 'mongodb';
import { z } from 'zod';
import { isScalar, type Scalar } from '../port/cursor.ts';
import { unwrapSchema } from '../port/json-field.ts';
import { misuseError } from '../port/store-misuse.ts';
import { requireComparable, requireField } from '../port/collection-shape.ts';
import { createDocumentId, encodeUniqueValues, type StoredDocument, type StoredCollection } from './stored-document.ts';

/** A tenant, or null for all tenants. */
export type Scope = string | null;

/** A MongoDB filter. Every value is a scalar or a list of scalars. */
export type Query = MongoFilter<StoredDocument>;

type Operators = Record<string, unknown>;
/** Operators on a path; null for a condition that never matches. */
type Condition = readonly [path: string, operators: Operators];
type Conditions = readonly Condition[] | null;

interface Column {
  path: string;
  /** Converts an operand to the stored form; undefined if the field cannot have such a value. */
  stored: (value: Scalar) => Scalar | undefined;
  list: boolean;
  /** The field may have values of several types. */
  mixed: boolean;
}

const ALWAYS: Conditions = [];
const NEVER: Conditions = null;
const COMPARISONS = new Set(['lt', 'lte', 'gt', 'gte']);

/** Builds the filter for documents of a scope that match all filters; null if none can match. */
export function buildFilter(collection: StoredCollection, scope: Scope, filters: readonly Record<string, unknown>[]): Query | null {
  const conditions = filters.flatMap((filter) => Object.entries(filter));
  const parts = conditions.map(([field, operand]) => buildCondition(collection, scope, { field, operand }));
  const found = parts.flatMap((part) => part ?? []);
  if (parts.includes(NEVER)) return null;
  if (scope === null) return joinConditions([...found, ['deletedTenant', { $exists: false }]]);
  return joinConditions([...found, ...unique(collection, scope, filters), ['tenant', { $eq: scope }], ...buildIdRange(scope, found)]);
}

/** Returns the id if the query matches at most one document. */
export function getDocumentId(query: Query): string | undefined {
  return typeof query._id === 'string' ? query._id : undefined;
}

/** Restricts a query to the tenant's range of ids, which start with the tenant. */
function buildIdRange(scope: string, found: readonly Condition[]): Condition[] {
  const isNamed = found.some(([path, operators]) => path === '_id' && ('$eq' in operators || '$in' in operators));
  return isNamed ? [] : [['_id', { $gte: `${scope}\0`, $lt: `${scope}\u0001` }]];
}

/** Adds a condition on the unique index if the filters have all fields of a unique set. */
function unique({ unique }: StoredCollection, scope: string, filters: readonly Record<string, unknown>[]): Condition[] {
  const conditions: Record<string, unknown> = Object.assign({}, ...filters);
  for (const [name, fields] of unique) {
    const values = fields.map((field) => conditions[field]);
    if (values.every((value) => isScalar(value) && value !== null)) return [[`unique.${name}`, { $eq: encodeUniqueValues(scope, values) }]];
  }
  return [];
}

export function resolveColumn(collection: StoredCollection, scope: Scope, field: string): Column {
  const isText = (value: Scalar): string | undefined => (typeof value === 'string' ? value : undefined);
  if (field === 'tenant' && scope === null) return { path: 'tenant', stored: isText, list: false, mixed: false };
  requireField(collection, field);
  if (field === collection.spec.key && scope !== null)
    return {
      path: '_id',
      stored: (value) => (typeof value === 'string' ? createDocumentId(scope, value) : undefined),
      list: false,
      mixed: false,
    };
  return { path: `doc.${field}`, stored: (value) => value, ...resolveFieldType(collection, field) };
}

function buildCondition(collection: StoredCollection, scope: Scope, { field, operand }: { field: string; operand: unknown }): Conditions {
  const column = resolveColumn(collection, scope, field);
  if (field !== 'tenant' && !isPresenceCondition(operand)) requireComparable(collection, field);
  if (isScalar(operand)) return buildEquals(column, operand);
  const operators = typeof operand === 'object' && operand !== null && !Array.isArray(operand) ? Object.entries(operand) : [];
  const parts = operators.map(([operator, value]) => buildComparison(column, operator, value));
  if (parts.length === 0 || parts.includes(undefined)) throw misuseError(collection.spec.name, `not a condition on ${field}`);
  return parts.includes(NEVER) ? NEVER : parts.flatMap((part) => part ?? []);
}

function isPresenceCondition(operand: unknown): boolean {
  return operand === null || (typeof operand === 'object' && Object.keys(operand).every((operator) => operator === 'exists'));
}

function buildComparison(column: Column, operator: string, operand: unknown): Conditions | undefined {
  if (COMPARISONS.has(operator) && isScalar(operand) && operand !== null) return buildRange(column, operator, operand);
  if (operator === 'ne' && isScalar(operand)) return buildNotEquals(column, operand);
  if (operator === 'in' && Array.isArray(operand) && operand.every(isScalar)) return buildIn(column, operand);
  if (operator === 'exists' && typeof operand === 'boolean') return operand ? buildNotEquals(column, null) : buildEquals(column, null);
  if (operator === 'has' && isScalar(operand) && operand !== null) return column.list ? [[column.path, { $eq: operand }]] : NEVER;
  if (operator === 'lacks' && isScalar(operand) && operand !== null) return column.list ? [[column.path, { $ne: operand }]] : ALWAYS;
  return undefined;
}

/** MongoDB applies a range on an array to its entries, so arrays are excluded. */
function buildRange({ path, stored, list }: Column, operator: string, operand: Scalar): Conditions {
  const value = stored(operand);
  return value === undefined || list ? NEVER : [[path, { [`$${operator}`]: value }]];
}

function buildEquals({ path, stored, list }: Column, operand: Scalar): Conditions {
  if (operand === null) return path === '_id' ? NEVER : [[path, list ? { $not: { $type: 'array' } } : { $eq: null }]];
  const value = stored(operand);
  return value === undefined || list ? NEVER : [[path, { $eq: value }]];
}

function buildNotEquals({ path, stored, list }: Column, operand: Scalar): Conditions {
  if (operand === null) return path === '_id' ? ALWAYS : [[path, list ? { $type: 'array' } : { $ne: null }]];
  const value = stored(operand);
  return value === undefined || list ? ALWAYS : [[path, { $ne: value }]];
}

function buildIn(column: Column, operand: readonly Scalar[]): Conditions {
  const { path, stored, list } = column;
  if (list) return operand.includes(null) ? buildEquals(column, null) : NEVER;
  return [[path, { $in: operand.map(stored).filter((value) => value !== undefined && !(path === '_id' && value === null)) }]];
}

function joinConditions(conditions: readonly Condition[]): Query {
  const query: Record<string, Operators> = {};
  const others: Query[] = [];
  for (const [path, operators] of conditions) {
    const known = query[path];
    if (known === undefined) query[path] = { ...operators };
    else if (Object.keys(operators).some((operator) => operator in known)) others.push({ [path]: operators });
    else Object.assign(known, operators);
  }
  // Some compatible servers use an index only for plain values and not for $eq.
  const plain = Object.entries(query).map(([path, operators]) => [path, isEquality(operators) ? operators['$eq'] : operators]);
  return { ...Object.fromEntries(plain), ...(others.length === 0 ? {} : { $and: others }) } as Query;
}

function isEquality(operators: Operators): boolean {
  return '$eq' in operators && Object.keys(operators).length === 1;
}

type FieldType = Pick<Column, 'list' | 'mixed'>;

const fieldTypes = new WeakMap<readonly z.ZodType[], FieldType>();

/** A field that may be a list or not cannot be searched, because MongoDB would search the entries. */
function resolveFieldType({ fields, spec }: StoredCollection, field: string): FieldType {
  const types = fields.get(field) ?? [];
  const known = fieldTypes.get(types);
  if (known !== undefined) return known;
  const found = new Set(types.flatMap(listBsonTypes));
  const list = found.has('list');
  if (list && found.size > 1) throw misuseError(spec.name, `${field} may be a list or not, so it cannot be searched`);
  const kind = { list, mixed: found.size > 1 || found.has('any') };
  fieldTypes.set(types, kind);
  return kind;
}

function listBsonTypes(type: z.ZodType): ('list' | 'string' | 'number' | 'boolean' | 'any')[] {
  const bare = unwrapSchema(type);
  if (bare instanceof z.ZodUnion) return bare.options.flatMap((option) => listBsonTypes(option as z.ZodType));
  if (bare instanceof z.ZodArray || bare instanceof z.ZodTuple) return ['list'];
  if (bare instanceof z.ZodString || bare instanceof z.ZodStringFormat || bare instanceof z.ZodEnum) return ['string'];
  if (bare instanceof z.ZodNumber) return ['number'];
  return [bare instanceof z.ZodBoolean ? 'boolean' : 'any'];
}
