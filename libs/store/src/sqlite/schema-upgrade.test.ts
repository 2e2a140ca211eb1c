import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { a, items, newItem } from '../contract/fixture.contract.ts';
import { openStore } from '../index.ts';
import { createPrivately } from './database.ts';

const root = mkdtempSync(join(tmpdir(), 'earlier-'));
after(() => rmSync(root, { recursive: true, force: true }));

/** A file as it was written before claims, indexes across tenants and `json()`. */
function earlierDatabase(name: string): string {
  const dir = join(root, name);
  const file = join(dir, 'sessions.db');
  createPrivately(dir, file);
  const db = new DatabaseSync(file);
  db.exec(`PRAGMA journal_mode = WAL;
    CREATE TABLE outbox (
      seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, tenant TEXT NOT NULL, name TEXT NOT NULL, payload TEXT NOT NULL,
      refused INTEGER NOT NULL DEFAULT 0) STRICT;
    CREATE TABLE identity (one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL) STRICT;
    INSERT INTO identity VALUES (1, 'db_earlier');
    CREATE TABLE "c_items" (id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, key TEXT NOT NULL,
      doc TEXT NOT NULL CHECK (json_valid(doc)), UNIQUE (tenant, key)) STRICT;
    CREATE INDEX "items.index.n" ON "c_items" (tenant, json_extract(doc, '$."n"'), key);`);
  const put = db.prepare('INSERT INTO c_items (tenant, key, doc) VALUES (?, ?, ?)');
  const raw = { ...newItem('1'), data: { $set: [1] }, labels: { 'a.b': 'c' }, calls: [{ name: 'x' }, 7, null] };
  put.run('a', '1', JSON.stringify(raw));
  put.run('a', '2', JSON.stringify({ id: '2', title: 'without n' }));
  put.run('b', '3', JSON.stringify(newItem('3', { title: 'x'.repeat(1_100_000) })));
  const owe = db.prepare('INSERT INTO outbox (id, tenant, name, payload, refused) VALUES (?, ?, ?, ?, ?)');
  for (let n = 0; n < 250; n += 1) owe.run(`evt_${n}`, 'a', 'item:made', JSON.stringify({ n }), Number(n === 10));
  db.close();
  return `sqlite:${dir}`;
}

test('documents of an earlier version are read, searched and changed', async () => {
  const store = await openStore(earlierDatabase('documents'), { service: 'sessions', strict: true });
  assert.match(store.identity, /^db_earlier\./);
  const { items: all } = await store.open({ items });
  const mine = all.for(a);
  const before = { data: { $set: [1] }, labels: { 'a.b': 'c' }, calls: [{ name: 'x' }, 7, null] };
  assert.deepEqual(await mine.get('1'), newItem('1', before));
  const changed = await mine.update({ id: '1' }, { push: { calls: { name: 'y' } }, set: { title: 'new' } });
  assert.deepEqual(changed, newItem('1', { ...before, title: 'new', calls: [...before.calls, { name: 'y' }] }));
  assert.deepEqual(await mine.get('1'), changed);
  assert.equal((await mine.get('2'))?.n, 0, 'a default that came later');
  assert.deepEqual(
    (await all.system().find({ n: { gte: 0 } })).items.map(({ id, tenant }) => tenant + id),
    ['a1', 'b3'],
  );
  const large = await all.for({ tenant: 'b' }).update({ id: '3' }, { inc: { n: 1 } });
  assert.equal(large?.n, 1, 'what was too large before there was a limit can still end');
  await store.close();
});

test('events that an earlier version left are published, in their order and under their ids', async () => {
  const url = earlierDatabase('events');
  const store = await openStore(url, { service: 'sessions' });
  const { items: all } = await store.open({ items });
  await all.for(a).update({ id: '1' }, { inc: { n: 1 }, emit: [{ name: 'item:changed', payload: {} }] });
  const heard: string[] = [];
  await store.publishTo(async ({ id, name }) => void heard.push(name === 'item:made' ? id : name));
  await store.close();
  const earlier = heard.filter((id) => id.startsWith('evt_'));
  assert.deepEqual(
    earlier,
    Array.from({ length: 250 }, (_, n) => `evt_${n}`).filter((id) => id !== 'evt_10'),
  );
  assert.equal(heard.length, earlier.length + 1);
});

/** What the version before this one keeps of its events. */
const OUTBOX = `
  CREATE TABLE outbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, tenant TEXT NOT NULL, name TEXT NOT NULL, payload TEXT NOT NULL,
    refused INTEGER NOT NULL DEFAULT 0, document TEXT NOT NULL DEFAULT '') STRICT;
  CREATE TABLE owing (
    document TEXT PRIMARY KEY, owner TEXT NOT NULL, until INTEGER NOT NULL, failures INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;`;

test('events that one version or another left are published, however often they take turns', async () => {
  const dir = join(root, 'turns');
  const open = async () => {
    const store = await openStore(`sqlite:${dir}`, { service: 'sessions' });
    return { store, mine: (await store.open({ items })).items.for(a) };
  };
  const said: string[] = [];
  for (const turn of ['first', 'second']) {
    const { store, mine } = await open();
    await mine.replace(newItem('1'), { emit: [{ name: `now ${turn}`, payload: {} }] });
    await store.close();
    const db = new DatabaseSync(join(dir, 'sessions.db'));
    db.exec(OUTBOX);
    const document = JSON.stringify(['items', 'a', '1']);
    db.prepare(`INSERT INTO outbox (id, tenant, name, payload, document) VALUES (?, 'a', ?, '{}', ?)`).run(turn, `then ${turn}`, document);
    db.prepare(`INSERT INTO owing (document, owner, until) VALUES (?, 'own_before', ?)`).run(document, Date.now());
    db.close();
    said.push(`now ${turn}`, `then ${turn}`);
  }
  const { store } = await open();
  const heard: string[] = [];
  await store.publishTo(async ({ name }) => void heard.push(name));
  await store.close();
  assert.deepEqual(heard, said);
});

test('a version that knows no columns may be at work in between', async () => {
  const url = earlierDatabase('between');
  const open = async () => {
    const store = await openStore(url, { service: 'sessions', strict: true });
    return { store, all: (await store.open({ items })).items };
  };
  await (await open()).store.close();
  const db = new DatabaseSync(join(root, 'between', 'sessions.db'));
  // It replaces the indexes by its own, and writes documents alone.
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
