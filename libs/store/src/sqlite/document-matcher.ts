import { isScalar, type Scalar } from '../port/cursor.ts';
import type { Document } from '../port/collection.ts';
import { misuse } from '../port/store-misuse.ts';
import { requireComparable, requireField } from '../port/collection-shape.ts';
import { asksPresence } from './query.ts';
import type { Table } from './table.ts';

type Test = (value: unknown) => boolean;
type Comparable = string | number | boolean;

/** Whether a document, as it is stored, is what every filter asks for: what `where` says of a row, once its document has been read anyway. */
export function matcher(table: Table, filters: readonly Record<string, unknown>[]): (stored: Document) => boolean {
  const tests: Tests = [];
  for (const filter of filters) {
    for (const field of Object.keys(filter)) {
      requireField(table, field);
      const wanted = filter[field];
      if (!asksPresence(wanted)) requireComparable(table, field);
      if (isScalar(wanted)) tests.push([field, equals(wanted)]);
      else addTests(tests, table, field, wanted);
    }
  }
  return (stored) => tests.every(([field, holds]) => holds(stored[field] ?? null));
}

type Tests = (readonly [field: string, holds: Test])[];

function addTests(tests: Tests, { spec }: Table, field: string, wanted: unknown): void {
  const operators = typeof wanted === 'object' && wanted !== null && !Array.isArray(wanted) ? Object.entries(wanted) : [];
  if (operators.length === 0) throw misuse(spec.name, `not a condition on ${field}`);
  for (const [operator, operand] of operators) {
    const test = testOf(operator, operand);
    if (test === undefined) throw misuse(spec.name, `not a condition on ${field}`);
    tests.push([field, test]);
  }
}

const RANGES: ReadonlyMap<string, (order: number) => boolean> = new Map([
  ['lt', (order) => order < 0],
  ['lte', (order) => order <= 0],
  ['gt', (order) => order > 0],
  ['gte', (order) => order >= 0],
]);

function testOf(operator: string, operand: unknown): Test | undefined {
  const range = RANGES.get(operator);
  if (range !== undefined && isScalar(operand) && operand !== null) return within(range, stored(operand) as Comparable);
  if (operator === 'ne' && isScalar(operand)) return not(equals(operand));
  if (operator === 'in' && Array.isArray(operand) && operand.every(isScalar)) return oneOf(operand);
  if (operator === 'exists' && typeof operand === 'boolean') return (value) => (value !== null) === operand;
  if (operator === 'has' && isScalar(operand) && operand !== null) return has(operand);
  if (operator === 'lacks' && isScalar(operand) && operand !== null) return not(has(operand));
  return undefined;
}

/** As a value of a document is stored. */
function stored(operand: Scalar): Scalar {
  return typeof operand === 'string' ? operand.toWellFormed() : operand;
}

function equals(operand: Scalar): Test {
  const wanted = stored(operand);
  return (value) => value === wanted;
}

function oneOf(operands: readonly Scalar[]): Test {
  const wanted = new Set<unknown>(operands.map(stored));
  return (value) => wanted.has(value);
}

function has(operand: Comparable): Test {
  const wanted = stored(operand);
  return (value) => Array.isArray(value) && value.includes(wanted);
}

function not(holds: Test): Test {
  return (value) => !holds(value);
}

function within(range: (order: number) => boolean, operand: Comparable): Test {
  return (value) => typeof value === typeof operand && range(order(value as Comparable, operand));
}

function order(a: Comparable, b: Comparable): number {
  if (a === b) return 0;
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(String(b))); // by code points, as the database does
  return a < b ? -1 : 1;
}
