import type { SQLInputValue } from 'node:sqlite';
import { isScalar, type Scalar } from '../port/cursor.ts';
import { misuseError } from '../port/store-misuse.ts';
import { requireComparable, requireField } from '../port/collection-shape.ts';
import { columnSql, typeSql, type Table } from './table.ts';

/** A part of a statement. The text contains only keywords and declared field names; every value is a parameter. */
export interface Sql {
  text: string;
  values: SQLInputValue[];
}

/** A tenant, or null for all tenants. */
export type Scope = string | null;

interface Column {
  /** Expression of the value; booleans are 0 or 1. */
  value: string;
  type: string;
  /** The column contains only text. */
  text: boolean;
  /** The column may contain booleans. */
  boolean: boolean;
  entries: string;
}

/** Up to this number, each value of `in` is a separate parameter, which is faster. */
const MAX_SEPARATE_PARAMETERS = 4;

const NEVER: Sql = { text: '0', values: [] };
const ALWAYS: Sql = { text: '1', values: [] };
const COMPARISONS: ReadonlyMap<string, string> = new Map([
  ['lt', '<'],
  ['lte', '<='],
  ['gt', '>'],
  ['gte', '>='],
]);

/** Builds the condition for documents of a scope that match all filters. */
export function buildFilter(table: Table, scope: Scope, filters: readonly Record<string, unknown>[]): Sql {
  const parts = filters
    .flatMap((filter) => Object.entries(filter))
    .map(([field, operand]) => buildCondition(table, scope, { field, operand }));
  const within = scope === null ? [] : [{ text: 'tenant = ?', values: [scope] }];
  return parts.length + within.length === 0 ? ALWAYS : joinSql([...within, ...parts], ' AND ');
}

export function resolveColumn(table: Table, scope: Scope, field: string): Column {
  if (field === 'tenant' && scope === null) return { value: 'tenant', type: `'text'`, text: true, boolean: false, entries: '' };
  requireField(table, field);
  const text = field === table.spec.key;
  return {
    value: columnSql(table, field),
    type: typeSql(field),
    text,
    boolean: table.booleans.has(field),
    entries: `json_each(doc, '$."${field}"')`,
  };
}

function buildCondition(table: Table, scope: Scope, { field, operand }: { field: string; operand: unknown }): Sql {
  const column = resolveColumn(table, scope, field);
  if (field !== 'tenant' && !isPresenceCondition(operand)) requireComparable(table, field);
  if (isScalar(operand)) return buildEquals(column, operand);
  const operators = typeof operand === 'object' && operand !== null && !Array.isArray(operand) ? Object.entries(operand) : [];
  const parts = operators.map(([operator, value]) => buildComparison(column, operator, value));
  if (parts.length === 0 || parts.includes(undefined)) throw misuseError(table.spec.name, `not a condition on ${field}`);
  return joinSql(
    parts.filter((part) => part !== undefined),
    ' AND ',
  );
}

/** Returns whether the condition is valid for any field, including json(). */
export function isPresenceCondition(operand: unknown): boolean {
  return operand === null || (typeof operand === 'object' && Object.keys(operand).every((operator) => operator === 'exists'));
}

function buildComparison(column: Column, operator: string, operand: unknown): Sql | undefined {
  const comparison = COMPARISONS.get(operator);
  if (comparison !== undefined && isScalar(operand) && operand !== null) return buildRange(column, comparison, operand);
  if (operator === 'ne' && isScalar(operand)) return negate(buildEquals(column, operand));
  if (operator === 'in' && Array.isArray(operand) && operand.every(isScalar)) return buildIn(column, operand);
  if (operator === 'exists' && typeof operand === 'boolean') return operand ? negate(buildEquals(column, null)) : buildEquals(column, null);
  if (operator === 'has' && isScalar(operand) && operand !== null) return buildHas(column, operand);
  if (operator === 'lacks' && isScalar(operand) && operand !== null) return negate(buildHas(column, operand));
  return undefined;
}

/** SQLite sorts numbers before text, so a range needs a bound for its own type. */
function buildRange(column: Column, comparison: string, operand: string | number | boolean): Sql {
  const range = { text: `${column.value} ${comparison} ?`, values: [toSqlValue(operand)] };
  if (typeof operand === 'string') return comparison.startsWith('<') && !column.text ? addCondition(range, `${column.value} >= ''`) : range;
  if (column.text) return NEVER;
  const below = comparison.startsWith('<') ? range : addCondition(range, `${column.value} < ''`);
  return restrictType(column, below, operand);
}

function buildEquals(column: Column, value: Scalar): Sql {
  if (value === null) return { text: `${column.value} IS NULL`, values: [] };
  // SQLite would convert the number to text.
  if (column.text && typeof value !== 'string') return NEVER;
  return restrictType(column, { text: `${column.value} = ?`, values: [toSqlValue(value)] }, value);
}

/** SQLite's JSON functions return booleans as numbers. */
function restrictType(column: Column, found: Sql, value: string | number | boolean): Sql {
  if (typeof value === 'boolean') return column.boolean ? addCondition(found, `${column.type} IN ('true', 'false')`) : NEVER;
  if (typeof value === 'number' && column.boolean) return addCondition(found, `${column.type} NOT IN ('true', 'false')`);
  return found;
}

function buildIn(column: Column, operand: readonly Scalar[]): Sql {
  const texts = operand.filter((value) => typeof value === 'string').map((value) => value.toWellFormed());
  const others = [...new Set(operand.filter((value) => typeof value === 'boolean' || value === null))];
  const numbers = column.text ? [] : operand.filter((value) => typeof value === 'number');
  const among = (values: (string | number)[]): Sql => {
    if (values.length > 0 && values.length <= MAX_SEPARATE_PARAMETERS)
      return { text: `${column.value} IN (${values.map(() => '?').join(', ')})`, values };
    // One parameter for any number of values keeps the statement text the same.
    return { text: `${column.value} IN (SELECT value FROM json_each(?))`, values: [JSON.stringify(values)] };
  };
  const plain = column.boolean ? [among(texts), restrictType(column, among(numbers), 0)] : [among([...texts, ...numbers])];
  return joinSql([...plain, ...others.map((value) => buildEquals(column, value))], ' OR ');
}

function buildHas(column: Column, entry: string | number | boolean): Sql {
  const type = typeof entry === 'string' ? `= 'text'` : typeof entry === 'number' ? `IN ('integer', 'real')` : `= '${String(entry)}'`;
  return { text: `EXISTS (SELECT 1 FROM ${column.entries} WHERE type ${type} AND value = ?)`, values: [toSqlValue(entry)] };
}

function negate({ text, values }: Sql): Sql {
  return { text: `(${text}) IS NOT TRUE`, values };
}

function addCondition({ text, values }: Sql, condition: string): Sql {
  return { text: `(${text} AND ${condition})`, values };
}

export function toSqlValue(value: Scalar): SQLInputValue {
  return typeof value === 'boolean' ? Number(value) : value;
}

export function joinSql(parts: readonly Sql[], by: ' AND ' | ' OR '): Sql {
  return { text: `(${parts.map((part) => part.text).join(by)})`, values: parts.flatMap((part) => part.values) };
}
