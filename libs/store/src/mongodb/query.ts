import type { Filter as MongoFilter } from 'mongodb';
import { z } from 'zod';
import { isScalar, type Scalar } from '../port/cursor.ts';
import { unwrapped } from '../port/json-field.ts';
import { misuse } from '../port/store-misuse.ts';
import { requireComparable, requireField } from '../port/collection-shape.ts';
import { idOf, uniqueText, type Kept, type KeptCollection } from './stored-document.ts';

/** Whose documents: one tenant's, or everybody's. */
export type Scope = string | null;

/** Conditions of MongoDB, each on a path of ours. Every value in them is a scalar or a list of scalars. */
export type Query = MongoFilter<Kept>;

type Operators = Record<string, unknown>;
/** What must hold of a path; null for what never holds. */
type Condition = readonly [path: string, operators: Operators];
type Conditions = readonly Condition[] | null;

interface Column {
  path: string;
  /** How a value of the field stands there; undefined where none like it can. */
  stored: (value: Scalar) => Scalar | undefined;
  list: boolean;
  /** Values of several types may stand there. */
  mixed: boolean;
}

const ALWAYS: Conditions = [];
const NEVER: Conditions = null;
const COMPARISONS = new Set(['lt', 'lte', 'gt', 'gte']);

/** The documents of a scope that match every filter; null when none can. */
export function where(kept: KeptCollection, scope: Scope, filters: readonly Record<string, unknown>[]): Query | null {
  const asked = filters.flatMap((filter) => Object.entries(filter));
  const parts = asked.map(([field, wanted]) => condition(kept, scope, { field, wanted }));
  const found = parts.flatMap((part) => part ?? []);
  if (parts.includes(NEVER)) return null;
  if (scope === null) return joined([...found, ['gone', { $exists: false }]]);
  return joined([...found, ...unique(kept, scope, filters), ['tenant', { $eq: scope }], ...within(scope, found)]);
}

/** The id of the only document that a query can find. */
export function pointOf(query: Query): string | undefined {
  return typeof query._id === 'string' ? query._id : undefined;
}

/** Ids are led by the tenant, so that a query without an index of its own stays among them. */
function within(scope: string, found: readonly Condition[]): Condition[] {
  const isNamed = found.some(([path, operators]) => path === '_id' && ('$eq' in operators || '$in' in operators));
  return isNamed ? [] : [['_id', { $gte: `${scope}\0`, $lt: `${scope}\u0001` }]];
}

/** A unique set that is asked for whole is found by its own index. */
function unique({ unique }: KeptCollection, scope: string, filters: readonly Record<string, unknown>[]): Condition[] {
  const asked: Record<string, unknown> = Object.assign({}, ...filters);
  for (const [name, fields] of unique) {
    const values = fields.map((field) => asked[field]);
    if (values.every((value) => isScalar(value) && value !== null)) return [[`unique.${name}`, { $eq: uniqueText(scope, values) }]];
  }
  return [];
}

export function columnOf(kept: KeptCollection, scope: Scope, field: string): Column {
  const isText = (value: Scalar): string | undefined => (typeof value === 'string' ? value : undefined);
  if (field === 'tenant' && scope === null) return { path: 'tenant', stored: isText, list: false, mixed: false };
  requireField(kept, field);
  if (field === kept.spec.key && scope !== null)
    return { path: '_id', stored: (value) => (typeof value === 'string' ? idOf(scope, value) : undefined), list: false, mixed: false };
  return { path: `doc.${field}`, stored: (value) => value, ...kindOf(kept, field) };
}

function condition(kept: KeptCollection, scope: Scope, { field, wanted }: { field: string; wanted: unknown }): Conditions {
  const column = columnOf(kept, scope, field);
  if (field !== 'tenant' && !asksPresence(wanted)) requireComparable(kept, field);
  if (isScalar(wanted)) return equals(column, wanted);
  const operators = typeof wanted === 'object' && wanted !== null && !Array.isArray(wanted) ? Object.entries(wanted) : [];
  const parts = operators.map(([operator, operand]) => compare(column, operator, operand));
  if (parts.length === 0 || parts.includes(undefined)) throw misuse(kept.spec.name, `not a condition on ${field}`);
  return parts.includes(NEVER) ? NEVER : parts.flatMap((part) => part ?? []);
}

function asksPresence(wanted: unknown): boolean {
  return wanted === null || (typeof wanted === 'object' && Object.keys(wanted).every((operator) => operator === 'exists'));
}

function compare(column: Column, operator: string, operand: unknown): Conditions | undefined {
  if (COMPARISONS.has(operator) && isScalar(operand) && operand !== null) return ranges(column, operator, operand);
  if (operator === 'ne' && isScalar(operand)) return differs(column, operand);
  if (operator === 'in' && Array.isArray(operand) && operand.every(isScalar)) return oneOf(column, operand);
  if (operator === 'exists' && typeof operand === 'boolean') return operand ? differs(column, null) : equals(column, null);
  if (operator === 'has' && isScalar(operand) && operand !== null) return column.list ? [[column.path, { $eq: operand }]] : NEVER;
  if (operator === 'lacks' && isScalar(operand) && operand !== null) return column.list ? [[column.path, { $ne: operand }]] : ALWAYS;
  return undefined;
}

/** MongoDB compares values of one type alone, but asks of a list whether one of its entries is like that. */
function ranges({ path, stored, list }: Column, operator: string, operand: Scalar): Conditions {
  const value = stored(operand);
  return value === undefined || list ? NEVER : [[path, { [`$${operator}`]: value }]];
}

function equals({ path, stored, list }: Column, wanted: Scalar): Conditions {
  if (wanted === null) return path === '_id' ? NEVER : [[path, list ? { $not: { $type: 'array' } } : { $eq: null }]];
  const value = stored(wanted);
  return value === undefined || list ? NEVER : [[path, { $eq: value }]];
}

function differs({ path, stored, list }: Column, unwanted: Scalar): Conditions {
  if (unwanted === null) return path === '_id' ? ALWAYS : [[path, list ? { $type: 'array' } : { $ne: null }]];
  const value = stored(unwanted);
  return value === undefined || list ? ALWAYS : [[path, { $ne: value }]];
}

function oneOf(column: Column, wanted: readonly Scalar[]): Conditions {
  const { path, stored, list } = column;
  if (list) return wanted.includes(null) ? equals(column, null) : NEVER;
  return [[path, { $in: wanted.map(stored).filter((value) => value !== undefined && !(path === '_id' && value === null)) }]];
}

function joined(conditions: readonly Condition[]): Query {
  const query: Record<string, Operators> = {};
  const others: Query[] = [];
  for (const [path, operators] of conditions) {
    const known = query[path];
    if (known === undefined) query[path] = { ...operators };
    else if (Object.keys(operators).some((operator) => operator in known)) others.push({ [path]: operators });
    else Object.assign(known, operators);
  }
  // A plain value says the same, and some servers look into an index for no other.
  const plain = Object.entries(query).map(([path, operators]) => [path, isEquality(operators) ? operators['$eq'] : operators]);
  return { ...Object.fromEntries(plain), ...(others.length === 0 ? {} : { $and: others }) } as Query;
}

function isEquality(operators: Operators): boolean {
  return '$eq' in operators && Object.keys(operators).length === 1;
}

type Kind = Pick<Column, 'list' | 'mixed'>;

const kinds = new WeakMap<readonly z.ZodType[], Kind>();

/** A field that is a list only at times cannot be asked: MongoDB would look into it. */
function kindOf({ fields, spec }: KeptCollection, field: string): Kind {
  const types = fields.get(field) ?? [];
  const known = kinds.get(types);
  if (known !== undefined) return known;
  const found = new Set(types.flatMap(bsonTypesOf));
  const list = found.has('list');
  if (list && found.size > 1) throw misuse(spec.name, `${field} may be a list and may be none, so it cannot be searched`);
  const kind = { list, mixed: found.size > 1 || found.has('any') };
  kinds.set(types, kind);
  return kind;
}

function bsonTypesOf(type: z.ZodType): ('list' | 'string' | 'number' | 'boolean' | 'any')[] {
  const bare = unwrapped(type);
  if (bare instanceof z.ZodUnion) return bare.options.flatMap((option) => bsonTypesOf(option as z.ZodType));
  if (bare instanceof z.ZodArray || bare instanceof z.ZodTuple) return ['list'];
  if (bare instanceof z.ZodString || bare instanceof z.ZodStringFormat || bare instanceof z.ZodEnum) return ['string'];
  if (bare instanceof z.ZodNumber) return ['number'];
  return [bare instanceof z.ZodBoolean ? 'boolean' : 'any'];
}
