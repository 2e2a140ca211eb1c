import type { SQLInputValue } from 'node:sqlite';
import { isScalar, type Scalar } from '../cursor.ts';
import { misuse, requireField } from '../shape.ts';
import { fieldSql, typeSql, type Table } from './table.ts';

/** A piece of a statement. Its text is made of our own words and declared field names; every value is a parameter. */
export interface Sql {
  text: string;
  values: SQLInputValue[];
}

/** Whose documents: one tenant's, or everybody's. */
export type Scope = string | null;

interface Column {
  value: string;
  type: string;
}

const COMPARISONS: ReadonlyMap<string, string> = new Map([
  ['lt', '<'],
  ['lte', '<='],
  ['gt', '>'],
  ['gte', '>='],
]);

/** The documents of a scope that match every filter. */
export function where(table: Table, scope: Scope, filters: readonly Record<string, unknown>[]): Sql {
  const parts = filters.flatMap((filter) => Object.entries(filter)).map(([field, wanted]) => condition(table, scope, { field, wanted }));
  const named = filters.some((filter) => Object.hasOwn(filter, 'tenant'));
  return joined([...(named && scope === null ? [] : [within(table, scope)]), ...parts], ' AND ');
}

function within(table: Table, scope: Scope): Sql {
  if (scope !== null) return { text: 'tenant = ?', values: [scope] };
  // Every index begins with the tenant. Listing the tenants (one seek each) lets a search across all of them use the index.
  const next = `SELECT min(tenant) FROM ${table.name}`;
  const tenants = `WITH RECURSIVE t(x) AS (${next} UNION ALL SELECT (${next} WHERE tenant > x) FROM t WHERE x IS NOT NULL)`;
  return { text: `tenant IN (${tenants} SELECT x FROM t WHERE x IS NOT NULL)`, values: [] };
}

function columnOf(table: Table, scope: Scope, field: string): Column {
  if (field === 'tenant' && scope === null) return { value: 'tenant', type: 'tenant' };
  requireField(table, field);
  return { value: field === table.spec.key ? 'key' : fieldSql(field), type: typeSql(field) };
}

function condition(table: Table, scope: Scope, { field, wanted }: { field: string; wanted: unknown }): Sql {
  const column = columnOf(table, scope, field);
  if (isScalar(wanted)) return equals(column, wanted);
  const operators = typeof wanted === 'object' && wanted !== null && !Array.isArray(wanted) ? Object.entries(wanted) : [];
  const parts = operators.map(([operator, operand]) => compare(column, operator, operand));
  if (parts.length === 0 || parts.includes(undefined)) throw misuse(table.spec.name, `not a condition on ${field}`);
  return joined(
    parts.filter((part) => part !== undefined),
    ' AND ',
  );
}

function compare(column: Column, operator: string, operand: unknown): Sql | undefined {
  const comparison = COMPARISONS.get(operator);
  if (comparison !== undefined && isScalar(operand) && operand !== null) {
    return { text: `${column.value} ${comparison} ?`, values: [bound(operand)] };
  }
  if (operator === 'ne' && isScalar(operand)) return { text: `${column.value} IS NOT ?`, values: [bound(operand)] };
  if (operator === 'in' && Array.isArray(operand) && operand.every(isScalar)) return oneOf(column, operand);
  if (operator === 'exists' && typeof operand === 'boolean') return { text: `${column.type} IS ${operand ? 'NOT ' : ''}NULL`, values: [] };
  return undefined;
}

function oneOf(column: Column, wanted: readonly Scalar[]): Sql {
  // One parameter for any number of values, so that the statement stays the same.
  const listed = { text: `${column.value} IN (SELECT value FROM json_each(?))`, values: [JSON.stringify(wanted)] };
  return wanted.includes(null) ? joined([listed, equals(column, null)], ' OR ') : listed;
}

function equals(column: Column, value: Scalar): Sql {
  return value === null ? { text: `${column.value} IS NULL`, values: [] } : { text: `${column.value} = ?`, values: [bound(value)] };
}

/** SQLite's JSON functions give booleans as numbers. */
function bound(value: Scalar): SQLInputValue {
  return typeof value === 'boolean' ? Number(value) : value;
}

export function joined(parts: readonly Sql[], by: ' AND ' | ' OR '): Sql {
  return { text: `(${parts.map((part) => part.text).join(by)})`, values: parts.flatMap((part) => part.values) };
}

/** A total order: what was asked for, then the key, so that a page has one place to go on from. */
export interface Order {
  terms: { field: string; column: string; descending: boolean }[];
  text: string;
  /** Names the order in a cursor. */
  signature: string;
}

export interface Search {
  filter: Record<string, unknown>;
  sort: readonly (readonly [field: string, direction: 'asc' | 'desc'])[];
}

export function orderOf(table: Table, scope: Scope, { filter, sort }: Search): Order {
  // In the direction of the last field, so that an index is read straight through.
  const last = sort.at(-1)?.[1] ?? 'asc';
  const ties = (scope === null ? ['tenant', table.spec.key] : [table.spec.key]).filter((tie) => !sort.some(([field]) => field === tie));
  const terms = [...sort, ...ties.map((tie) => [tie, last] as const)].map(([field, direction]) => ({
    field,
    column: columnOf(table, scope, field).value,
    descending: direction === 'desc',
  }));
  // SQLite would rather scan a whole tenant in key order than sort the few rows an index finds. The + hides the key order from it.
  const hidden = sort.length === 0 && isIndexed(table, filter) ? '+' : '';
  return {
    terms,
    text: terms.map(({ column, descending }) => `${hidden}${column}${descending ? ' DESC' : ''}`).join(', '),
    signature: terms.map(({ field, descending }) => (descending ? `-${field}` : field)).join(' '),
  };
}

function isIndexed({ spec }: Table, filter: Record<string, unknown>): boolean {
  const leading = [...(spec.indexes ?? []).map(({ fields }) => fields[0]), ...(spec.unique ?? []).map(([first]) => first)];
  return leading.some((field) => field !== undefined && Object.hasOwn(filter, field));
}

/** The rows after a position: greater in one term and equal in all terms before it. Null sorts first. */
export function after({ terms }: Order, position: readonly Scalar[]): Sql {
  const alternatives = terms.map(({ column, descending }, n) => {
    const level = terms.slice(0, n).map((term, i) => equals({ value: term.column, type: '' }, position[i] ?? null));
    return joined([...level, beyond(column, descending, position[n] ?? null)], ' AND ');
  });
  return joined(alternatives, ' OR ');
}

function beyond(column: string, descending: boolean, value: Scalar): Sql {
  if (value === null) return { text: descending ? '0' : `${column} IS NOT NULL`, values: [] };
  const values = [bound(value)];
  return descending ? { text: `(${column} < ? OR ${column} IS NULL)`, values } : { text: `${column} > ?`, values };
}
