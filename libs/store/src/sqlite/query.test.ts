import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { items } from '../contract/fixture.contract.ts';
import { readCollectionSpec } from '../port/collection-shape.ts';
import { buildOrder, type Search } from './sort-order.ts';
import { buildFilter, type Scope } from './query.ts';
import { prepareTable } from './table.ts';

test('uses indexes for filters and orders, within a tenant and across tenants', () => {
  const db = new DatabaseSync(':memory:');
  const table = prepareTable(db, readCollectionSpec(items));
  const plan = (scope: Scope, filter: Record<string, unknown>, sort: Search['sort'] = []) => {
    const { text, values } = buildFilter(table, scope, [filter]);
    const sql = `EXPLAIN QUERY PLAN SELECT doc FROM ${table.name} WHERE ${text} ORDER BY ${buildOrder(table, scope, { filter, sort }).text} LIMIT 10`;
    return db
      .prepare(sql)
      .all(...values)
      .map(({ detail }) => String(detail))
      .join('\n');
  };
  assert.match(plan('a', { id: '1' }), /SEARCH c_items USING INDEX sqlite_autoindex_c_items_1 \(tenant=\? AND key=\?\)/);
  assert.match(plan('a', { slug: 's' }), /SEARCH c_items USING INDEX items\.unique\.slug \(tenant=\? AND f_slug=\?\)/);
  assert.match(
    plan('a', { title: { in: ['x', 'y'] }, n: { lt: 5 } }),
    /USING INDEX items\.index\.title\.n \(tenant=\? AND f_title=\? AND f_n<\?\)/,
  );
  const newest = plan('a', { title: 'x' }, [['n', 'desc']]);
  assert.match(newest, /USING INDEX items\.index\.title\.n \(tenant=\? AND f_title=\?\)/);
  assert.doesNotMatch(newest, /TEMP B-TREE/);
  assert.match(plan(null, { n: { lt: 5 }, title: 'x' }), /SEARCH c_items USING INDEX items\.across\.n \(f_n<\?\)/);
  const highest = plan(null, {}, [['n', 'desc']]);
  assert.match(highest, /USING INDEX items\.across\.n/);
  assert.doesNotMatch(highest, /TEMP B-TREE/);
  assert.match(plan(null, { id: '1' }), /SEARCH c_items USING INDEX items\.across\.id \(key=\?\)/);
  const walk = plan(null, {});
  assert.match(walk, /sqlite_autoindex_c_items_1/);
  assert.doesNotMatch(walk, /TEMP B-TREE/);
  const oldest = plan('a', {});
  assert.match(oldest, /sqlite_autoindex_c_items_1 \(tenant=\?\)/);
  assert.doesNotMatch(oldest, /TEMP B-TREE/);
  db.close();
});

test('uses a sparse index for values of its field and indexes no other documents', () => {
  const db = new DatabaseSync(':memory:');
  const { indexes: _indexes, ...rest } = items;
  const table = prepareTable(db, readCollectionSpec({ ...rest, indexes: [{ fields: ['slug', 'n'], across: true, sparse: true }] }));
  for (const filter of [{ slug: 's' }, { slug: { gt: '' } }, { slug: { in: ['s'] } }]) {
    const { text, values } = buildFilter(table, null, [filter]);
    const order = buildOrder(table, null, { filter, sort: [['n', 'asc']] }).text;
    const plan = db.prepare(`EXPLAIN QUERY PLAN SELECT doc FROM ${table.name} WHERE ${text} ORDER BY ${order} LIMIT 1`).all(...values);
    assert.match(String(plan[0]?.detail), /SEARCH c_items USING INDEX items\.across\.slug\.n/);
  }
  db.close();
});
