import type { SQLInputValue } from 'node:sqlite';
import { isScalar, type Scalar } from '../port/cursor.ts';
import { misuse } from '../port/store-misuse.ts';
import { requireComparable, requireField } from '../port/collection-shape.ts';
import { columnSql, typeSql, type Table } from './table.ts';

/** A piece of a statement. Its text is made of our own words and declared field names; every value is a parameter. */
export interface Sql {
  text: string;
  values: SQLInputValue[];
}

/** Whose documents: one tenant's, or everybody's. */
export type Scope = string | null;

interface Column {
  /** What it holds: text, a number, and for a boolean 0 or 1. */
  value: string;
  type: string;
  /** Always text. */
  text: boolean;
  /** Whether 0 and 1 may be booleans. */
  boolean: boolean;
  entries: string;
}

/** So many values are parameters of their own: it is faster, and makes few statements. */
const FEW = 4;

const NEVER: Sql = { text: '0', values: [] };
const ALWAYS: Sql = { text: '1', values: [] };
const COMPARISONS: ReadonlyMap<string, string> = new Map([
  ['lt', '<'],
  ['lte', '<='],
  ['gt', '>'],
  ['gte', '>='],
]);

/** The documents of a scope that match every filter. */
export function where(table: Table, scope: Scope, filters: readonly Record<string, unknown>[]): Sql {
  const parts = filters.flatMap((filter) => Object.entries(filter)).map(([field, wanted]) => condition(table, scope, { field, wanted }));
  const within = scope === null ? [] : [{ text: 'tenant = ?', values: [scope] }];
  return parts.length + within.length === 0 ? ALWAYS : joined([...within, ...parts], ' AND ');
}

export function columnOf(table: Table, scope: Scope, field: string): Column {
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

function condition(table: Table, scope: Scope, { field, wanted }: { field: string; wanted: unknown }): Sql {
  const column = columnOf(table, scope, field);
  if (field !== 'tenant' && !asksPresence(wanted)) requireComparable(table, field);
  if (isScalar(wanted)) return equals(column, wanted);
  const operators = typeof wanted === 'object' && wanted !== null && !Array.isArray(wanted) ? Object.entries(wanted) : [];
  const parts = operators.map(([operator, operand]) => compare(column, operator, operand));
  if (parts.length === 0 || parts.includes(undefined)) throw misuse(table.spec.name, `not a condition on ${field}`);
  return joined(
    parts.filter((part) => part !== undefined),
    ' AND ',
  );
}

/** Which may be asked of any field. */
export function asksPresence(wanted: unknown): boolean {
  return wanted === null || (typeof wanted === 'object' && Object.keys(wanted).every((operator) => operator === 'exists'));
}

function compare(column: Column, operator: string, operand: unknown): Sql | undefined {
  const comparison = COMPARISONS.get(operator);
  if (comparison !== undefined && isScalar(operand) && operand !== null) return ranges(column, comparison, operand);
  if (operator === 'ne' && isScalar(operand)) return not(equals(column, operand));
  if (operator === 'in' && Array.isArray(operand) && operand.every(isScalar)) return oneOf(column, operand);
  if (operator === 'exists' && typeof operand === 'boolean') return operand ? not(equals(column, null)) : equals(column, null);
  if (operator === 'has' && isScalar(operand) && operand !== null) return has(column, operand);
  if (operator === 'lacks' && isScalar(operand) && operand !== null) return not(has(column, operand));
  return undefined;
}

/** In SQLite any number is before any text, so that a range says where its own type ends. */
function ranges(column: Column, comparison: string, operand: string | number | boolean): Sql {
  const range = { text: `${column.value} ${comparison} ?`, values: [bound(operand)] };
  if (typeof operand === 'string') return comparison.startsWith('<') && !column.text ? also(range, `${column.value} >= ''`) : range;
  if (column.text) return NEVER;
  const below = comparison.startsWith('<') ? range : also(range, `${column.value} < ''`);
  return ofType(column, below, operand);
}

function equals(column: Column, value: Scalar): Sql {
  if (value === null) return { text: `${column.value} IS NULL`, values: [] };
  // Beside a column of text SQLite would take a number for text.
  if (column.text && typeof value !== 'string') return NEVER;
  return ofType(column, { text: `${column.value} = ?`, values: [bound(value)] }, value);
}

/** SQLite's JSON functions give booleans as numbers. */
function ofType(column: Column, found: Sql, value: string | number | boolean): Sql {
  if (typeof value === 'boolean') return column.boolean ? also(found, `${column.type} IN ('true', 'false')`) : NEVER;
  if (typeof value === 'number' && column.boolean) return also(found, `${column.type} NOT IN ('true', 'false')`);
  return found;
}

function oneOf(column: Column, wanted: readonly Scalar[]): Sql {
  const texts = wanted.filter((value) => typeof value === 'string').map((value) => value.toWellFormed());
  const others = [...new Set(wanted.filter((value) => typeof value === 'boolean' || value === null))];
  const numbers = column.text ? [] : wanted.filter((value) => typeof value === 'number');
  const among = (values: (string | number)[]): Sql => {
    if (values.length > 0 && values.length <= FEW) return { text: `${column.value} IN (${values.map(() => '?').join(', ')})`, values };
    // One parameter for any number of values, so that the statement stays the same.
    return { text: `${column.value} IN (SELECT value FROM json_each(?))`, values: [JSON.stringify(values)] };
  };
  const plain = column.boolean ? [among(texts), ofType(column, among(numbers), 0)] : [among([...texts, ...numbers])];
  return joined([...plain, ...others.map((value) => equals(column, value))], ' OR ');
}

function has(column: Column, entry: string | number | boolean): Sql {
  const type = typeof entry === 'string' ? `= 'text'` : typeof entry === 'number' ? `IN ('integer', 'real')` : `= '${String(entry)}'`;
  return { text: `EXISTS (SELECT 1 FROM ${column.entries} WHERE type ${type} AND value = ?)`, values: [bound(entry)] };
}

function not({ text, values }: Sql): Sql {
  return { text: `(${text}) IS NOT TRUE`, values };
}

function also({ text, values }: Sql, condition: string): Sql {
  return { text: `(${text} AND ${condition})`, values };
}

export function bound(value: Scalar): SQLInputValue {
  return typeof value === 'boolean' ? Number(value) : value;
}

export function joined(parts: readonly Sql[], by: ' AND ' | ' OR '): Sql {
  return { text: `(${parts.map((part) => part.text).join(by)})`, values: parts.flatMap((part) => part.values) };
}
