import { isScalar, type Scalar } from '../port/cursor.ts';
import type { Document } from '../port/collection.ts';
import { misuseError } from '../port/store-misuse.ts';
import { requireComparable, requireField } from '../port/collection-shape.ts';
import { isPresenceCondition } from './query.ts';
import type { Table } from './table.ts';

type Test = (value: unknown) => boolean;
type Comparable = string | number | boolean;

/** Creates a function that tests a stored document against filters. Equivalent to `buildFilter`, for a document that is read anyway. */
export function createMatcher(table: Table, filters: readonly Record<string, unknown>[]): (toStoredValue: Document) => boolean {
  const tests: Tests = [];
  for (const filter of filters) {
    for (const field of Object.keys(filter)) {
      requireField(table, field);
      const condition = filter[field];
      if (!isPresenceCondition(condition)) requireComparable(table, field);
      if (isScalar(condition)) tests.push([field, equals(condition)]);
      else addTests(tests, table, field, condition);
    }
  }
  return (stored) => tests.every(([field, holds]) => holds(stored[field] ?? null));
}

type Tests = (readonly [field: string, holds: Test])[];

function addTests(tests: Tests, { spec }: Table, field: string, condition: unknown): void {
  const operators = typeof condition === 'object' && condition !== null && !Array.isArray(condition) ? Object.entries(condition) : [];
  if (operators.length === 0) throw misuseError(spec.name, `not a condition on ${field}`);
  for (const [operator, operand] of operators) {
    const test = createTest(operator, operand);
    if (test === undefined) throw misuseError(spec.name, `not a condition on ${field}`);
    tests.push([field, test]);
  }
}

const RANGES: ReadonlyMap<string, (compareValues: number) => boolean> = new Map([
  ['lt', (order) => order < 0],
  ['lte', (order) => order <= 0],
  ['gt', (order) => order > 0],
  ['gte', (order) => order >= 0],
]);

function createTest(operator: string, operand: unknown): Test | undefined {
  const range = RANGES.get(operator);
  if (range !== undefined && isScalar(operand) && operand !== null) return compareWith(range, stored(operand) as Comparable);
  if (operator === 'ne' && isScalar(operand)) return not(equals(operand));
  if (operator === 'in' && Array.isArray(operand) && operand.every(isScalar)) return getOne(operand);
  if (operator === 'exists' && typeof operand === 'boolean') return (value) => (value !== null) === operand;
  if (operator === 'has' && isScalar(operand) && operand !== null) return has(operand);
  if (operator === 'lacks' && isScalar(operand) && operand !== null) return not(has(operand));
  return undefined;
}

/** Converts an operand in the same way as stored values. */
function stored(operand: Scalar): Scalar {
  return typeof operand === 'string' ? operand.toWellFormed() : operand;
}

function equals(operand: Scalar): Test {
  const expected = stored(operand);
  return (value) => value === expected;
}

function getOne(operands: readonly Scalar[]): Test {
  const expected = new Set<unknown>(operands.map(stored));
  return (value) => expected.has(value);
}

function has(operand: Comparable): Test {
  const expected = stored(operand);
  return (value) => Array.isArray(value) && value.includes(expected);
}

function not(holds: Test): Test {
  return (value) => !holds(value);
}

function compareWith(range: (order: number) => boolean, operand: Comparable): Test {
  return (value) => typeof value === typeof operand && range(order(value as Comparable, operand));
}

function order(a: Comparable, b: Comparable): number {
  if (a === b) return 0;
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(String(b))); // UTF-8 order, as in SQLite
  return a < b ? -1 : 1;
}
