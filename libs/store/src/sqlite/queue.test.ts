import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { createQueue } from './queue.ts';

function setUp() {
  const db = new DatabaseSync(':memory:', { enableForeignKeyConstraints: true });
  db.exec(`CREATE TABLE t (n INTEGER PRIMARY KEY, x TEXT, parent INTEGER REFERENCES t (n) DEFERRABLE INITIALLY DEFERRED) STRICT`);
  let commits = 0;
  const queue = createQueue(db, () => (commits += 1));
  const insert = (n: number, parent: number | null = null) => db.prepare('INSERT INTO t (n, parent) VALUES (?, ?)').run(n, parent);
  const rows = () =>
    db
      .prepare('SELECT n FROM t ORDER BY n')
      .all()
      .map(({ n }) => n);
  return { db, queue, insert, rows, commits: () => commits };
}

test('the writes of one turn of the event loop are one transaction, and a failing one undoes all of itself and nothing else', async () => {
  const { queue, insert, rows, commits } = setUp();
  const results = await Promise.allSettled([
    queue.write(() => insert(1)),
    queue.write(() => {
      insert(2);
      insert(1);
    }),
    queue.write(() => insert(3)),
    queue.read(rows),
  ]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
  );
  assert.deepEqual(results[3]?.status === 'fulfilled' && results[3].value, [1, 3]);
  assert.equal(commits(), 1);
});

test('nothing is acknowledged before the commit: when that fails, every write of it fails and none is kept', async () => {
  const { queue, insert, rows } = setUp();
  const results = await Promise.allSettled([queue.write(() => insert(1)), queue.write(() => insert(2, 99))]);
  for (const result of results) assert.equal(result.status === 'rejected' && result.reason.code, 'UNAVAILABLE');
  assert.deepEqual(rows(), []);
  await queue.write(() => insert(3));
  assert.deepEqual(rows(), [3]);
});

test('a full disk fails the writes it meets and the queue goes on', async () => {
  const { db, queue, insert, rows } = setUp();
  const pages = Number(db.prepare('PRAGMA page_count').get()?.page_count);
  db.exec(`PRAGMA max_page_count = ${pages}`);
  const tooLarge = () => db.prepare('INSERT INTO t (n, x) VALUES (9, ?)').run('x'.repeat(100_000));
  await assert.rejects(queue.write(tooLarge));
  db.exec('PRAGMA max_page_count = 100000');
  await queue.write(() => insert(1));
  assert.deepEqual(rows(), [1]);
});

test('closing commits what was asked for and takes no more', async () => {
  const { queue, insert, rows } = setUp();
  const asked = Array.from({ length: 1_200 }, (_, n) => queue.write(() => insert(n)));
  queue.close();
  await Promise.all(asked);
  assert.equal(rows().length, 1_200);
  await assert.rejects(
    queue.write(() => insert(9_999)),
    { code: 'UNAVAILABLE' },
  );
  await assert.rejects(queue.read(rows), { code: 'UNAVAILABLE' });
});
