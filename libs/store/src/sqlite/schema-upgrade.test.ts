import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { a, items, newItem } from '../contract/fixture.contract.ts';
import { openStore } from '../index.ts';
import { createPrivateFile } from './database.ts';

const root = mkdtempSync(join(tmpdir(), 'schema-upgrade-'));
after(() => rmSync(root, { recursive: true, force: true }));

/** Creates a database without cross-tenant indexes, columns and `json()` fields. */
function createOldDatabase(name: string): string {
  const dir = join(root, name);
  const file = join(dir, 'sessions.db');
  createPrivateFile(dir, file);
  const db = new DatabaseSync(file);
  db.exec(`PRAGMA journal_mode = WAL;
    CREATE TABLE identity (one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL) STRICT;
    INSERT INTO identity VALUES (1, 'db_old');
    CREATE TABLE "c_items" (id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, key TEXT NOT NULL,
      doc TEXT NOT NULL CHECK (json_valid(doc)), UNIQUE (tenant, key)) STRICT;
    CREATE INDEX "items.index.n" ON "c_items" (tenant, json_extract(doc, '$."n"'), key);`);
  const put = db.prepare('INSERT INTO c_items (tenant, key, doc) VALUES (?, ?, ?)');
  const raw = { ...newItem('1'), data: { $set: [1] }, labels: { 'a.b': 'c' }, calls: [{ name: 'x' }, 7, null] };
  put.run('a', '1', JSON.stringify(raw));
  put.run('a', '2', JSON.stringify({ id: '2', title: 'without n' }));
  put.run('b', '3', JSON.stringify(newItem('3', { title: 'x'.repeat(1_100_000) })));
  db.close();
  return `sqlite:${dir}`;
}

test('reads, searches and changes documents that were written with an older schema', async () => {
  const store = await openStore(createOldDatabase('documents'), { service: 'sessions', strict: true });
  assert.match(store.identity, /^db_old\./);
  const { items: all } = await store.open({ items });
  const mine = all.for(a);
  const before = { data: { $set: [1] }, labels: { 'a.b': 'c' }, calls: [{ name: 'x' }, 7, null] };
  assert.deepEqual(await mine.get('1'), newItem('1', before));
  const changed = await mine.update({ id: '1' }, { push: { calls: { name: 'y' } }, set: { title: 'new' } });
  assert.deepEqual(changed, newItem('1', { ...before, title: 'new', calls: [...before.calls, { name: 'y' }] }));
  assert.deepEqual(await mine.get('1'), changed);
  assert.equal((await mine.get('2'))?.n, 0, 'the default of a new field');
  assert.deepEqual(
    (await all.system().find({ n: { gte: 0 } })).items.map(({ id, tenant }) => tenant + id),
    ['a1', 'b3'],
  );
  const large = await all.for({ tenant: 'b' }).update({ id: '3' }, { inc: { n: 1 } });
  assert.equal(large?.n, 1, 'a document above the size limit can still be changed');
  await store.close();
});

test('refills columns after a version without columns has written', async () => {
  const url = createOldDatabase('between');
  const open = async () => {
    const store = await openStore(url, { service: 'sessions', strict: true });
    return { store, all: (await store.open({ items })).items };
  };
  await (await open()).store.close();
  const db = new DatabaseSync(join(root, 'between', 'sessions.db'));
  // The older version replaces the index and writes only documents.
  db.exec(`DROP INDEX "items.across.n";
    CREATE INDEX "items.across.n" ON "c_items" (json_extract(doc, '$."n"'), tenant, key);
    UPDATE c_items SET doc = json_set(doc, '$.n', 77) WHERE key = '1';`);
  db.prepare('INSERT INTO c_items (tenant, key, doc) VALUES (?, ?, ?)').run('a', '9', JSON.stringify(newItem('9', { n: 78 })));
  db.close();
  const { store, all } = await open();
  const found = await all.system().find({ n: { gte: 77 } }, { sort: [['n', 'asc']] });
  assert.deepEqual(
    found.items.map(({ id, n }) => [id, n]),
    [
      ['1', 77],
      ['9', 78],
    ],
  );
  await store.close();
});
