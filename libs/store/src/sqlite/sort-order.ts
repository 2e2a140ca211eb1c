import type { Scalar } from '../port/cursor.ts';
import { requireComparable } from '../port/collection-shape.ts';
import { toSqlValue, resolveColumn, joinSql, type Scope, type Sql } from './query.ts';
import type { Table } from './table.ts';

/** A total order: the requested fields, then the key, so that a cursor is unambiguous. */
export interface Order {
  terms: { field: string; column: string; descending: boolean }[];
  text: string;
  /** Identifies the order in a cursor. */
  signature: string;
}

export interface Search {
  filter: Record<string, unknown>;
  sort: readonly (readonly [field: string, direction: 'asc' | 'desc'])[];
}

export function buildOrder(table: Table, scope: Scope, { filter, sort }: Search): Order {
  // Uses the direction of the last field, so that an index can be scanned in one direction.
  const last = sort.at(-1)?.[1] ?? 'asc';
  const ties = (scope === null ? ['tenant', table.spec.key] : [table.spec.key]).filter((tie) => !sort.some(([field]) => field === tie));
  for (const [field] of sort) if (field !== 'tenant' || scope !== null) requireComparable(table, field);
  const terms = [...sort, ...ties.map((tie) => [tie, last] as const)].map(([field, direction]) => ({
    field,
    column: resolveColumn(table, scope, field).value,
    descending: direction === 'desc',
  }));
  // SQLite prefers scanning a tenant in key order over sorting the few rows of an index. The + prevents that.
  const hidden = sort.length === 0 && isIndexed(table, scope, filter) ? '+' : '';
  return {
    terms,
    text: terms.map(({ column, descending }) => `${hidden}${column}${descending ? ' DESC' : ''}`).join(', '),
    signature: terms.map(({ field, descending }) => (descending ? `-${field}` : field)).join(' '),
  };
}

function isIndexed({ spec }: Table, scope: Scope, filter: Record<string, unknown>): boolean {
  const indexes = (spec.indexes ?? []).filter(({ across }) => (across === true) === (scope === null));
  const unique = scope === null ? [] : (spec.unique ?? []);
  const leading = [...indexes.map(({ fields }) => fields[0]), ...unique.map(([first]) => first)];
  return leading.some((field) => field !== undefined && Object.hasOwn(filter, field));
}

/** Selects the rows after a position: greater in one term and equal in all earlier terms. Null sorts first. */
export function buildCursorCondition({ terms }: Order, position: readonly Scalar[]): Sql {
  const alternatives = terms.map(({ column, descending }, n) => {
    const level = terms.slice(0, n).map((term, i) => buildEqual(term.column, position[i] ?? null));
    return joinSql([...level, buildAfter(column, descending, position[n] ?? null)], ' AND ');
  });
  return joinSql(alternatives, ' OR ');
}

function buildAfter(column: string, descending: boolean, value: Scalar): Sql {
  if (value === null) return { text: descending ? '0' : `${column} IS NOT NULL`, values: [] };
  const values = [toSqlValue(value)];
  return descending ? { text: `(${column} < ? OR ${column} IS NULL)`, values } : { text: `${column} > ?`, values };
}

function buildEqual(column: string, value: Scalar): Sql {
  return value === null ? { text: `${column} IS NULL`, values: [] } : { text: `${column} = ?`, values: [toSqlValue(value)] };
}
