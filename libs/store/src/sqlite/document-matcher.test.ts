import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import fc from 'fast-check';
import { code, items, newItem, type Item } from '../contract/fixture.contract.ts';
import { completeDocument, readCollectionSpec } from '../port/collection-shape.ts';
import { createMatcher } from './document-matcher.ts';
import { buildFilter } from './query.ts';
import { columnValue, prepareTable } from './table.ts';

const db = new DatabaseSync(':memory:');
const table = prepareTable(db, readCollectionSpec(items));

/** Similar values, so that filters match: includes lone surrogates and characters whose UTF-16 order differs from their UTF-8 order. */
const TEXTS = ['', 'a', 'A', 'b', 'é', '1', '5', 'true', '\u{FFFD}', '\u{FF5E}', '\u{1F600}', '\uD83D', 'a\uDE00'];
const NUMBERS = [-1, 0, 1, 5, 1.5, 2 ** 53, -0];
const text = fc.constantFrom(...TEXTS);
const scalar = fc.oneof(text, fc.constantFrom(...NUMBERS), fc.boolean());

const document = fc.record(
  {
    title: text,
    n: fc.constantFrom(0, 1, 5),
    flag: fc.boolean(),
    note: fc.option(text),
    tags: fc.array(text, { maxLength: 3 }),
    mixed: scalar,
    data: fc.option(scalar),
  },
  { requiredKeys: ['title', 'n'] },
);

const condition = fc.oneof(
  scalar,
  fc.constant(null),
  fc.record({ lt: scalar, lte: scalar, gt: scalar, gte: scalar }, { requiredKeys: [] }).filter((one) => Object.keys(one).length > 0),
  fc.record({ ne: fc.option(scalar) }),
  fc.record({ in: fc.array(fc.option(scalar), { maxLength: 6 }) }),
  fc.record({ exists: fc.boolean() }),
);
const entries = fc.record({ has: scalar, lacks: scalar }, { requiredKeys: [] }).filter((one) => Object.keys(one).length > 0);
const presence = fc.oneof(fc.constant(null), fc.record({ exists: fc.boolean() }));
const conditions = {
  id: condition,
  title: condition,
  n: condition,
  flag: condition,
  note: condition,
  mixed: condition,
  tags: entries,
  data: presence,
};
/** Filters on one or two fields. With more fields a wrong condition could be hidden by another one that does not match. */
const filter = fc
  .constantFrom(...(Object.keys(conditions) as (keyof typeof conditions)[]))
  .chain((field) => (conditions[field] as fc.Arbitrary<unknown>).map((expected) => ({ [field]: expected })));

const put = db.prepare(table.statements.insert);

/** Asserts that the matcher and the query find the same documents. */
function agree(fields: Partial<Item>, filters: readonly Record<string, unknown>[]): void {
  const stored = completeDocument(table, newItem('1', fields));
  db.exec('DELETE FROM c_items');
  put.run('a', '1', JSON.stringify(stored), ...table.columns.map((field) => columnValue(stored, field)));
  const sql = buildFilter(table, 'a', filters);
  const isFound = db.prepare(`SELECT 1 FROM c_items WHERE ${sql.text}`).get(...sql.values) !== undefined;
  const matches = createMatcher(table, filters)(JSON.parse(JSON.stringify(stored)) as typeof stored);
  assert.equal(matches, isFound, JSON.stringify({ fields, filters }));
}

test('createMatcher agrees with the query on example filters', () => {
  fc.assert(fc.property(document, fc.array(filter, { maxLength: 2 }), agree), { numRuns: 2_000 });
});

test('createMatcher agrees with the query on all pairs of values and operators', () => {
  const values = [...TEXTS, ...NUMBERS, true, false];
  for (const mixed of values)
    for (const operand of values)
      for (const operator of ['lt', 'lte', 'gt', 'gte', 'ne']) agree({ mixed }, [{ mixed: { [operator]: operand } }]);
});

test('createMatcher rejects the same invalid filters as the query', () => {
  const wrong = [
    { nope: 1 },
    { tenant: 'a' },
    { n: {} },
    { n: [1] },
    { n: undefined },
    { n: { lt: null } },
    { n: { near: 1 } },
    { data: 1 },
    { calls: { has: 'x' } },
  ];
  for (const one of wrong) {
    assert.throws(() => buildFilter(table, 'a', [one]), code('INTERNAL'), JSON.stringify(one));
    assert.throws(() => createMatcher(table, [one]), code('INTERNAL'), JSON.stringify(one));
  }
});
