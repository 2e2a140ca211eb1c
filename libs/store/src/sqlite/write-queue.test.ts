import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type { LogSync } from './wal-sync.ts';
import { createWriteQueue } from './write-queue.ts';

const ALWAYS_WORKS: LogSync = { sync: (done) => void setImmediate(done, null), syncNow: () => undefined, close: () => undefined };

function setUp(disk: LogSync = ALWAYS_WORKS) {
  const db = new DatabaseSync(':memory:', { enableForeignKeyConstraints: true });
  db.exec(`CREATE TABLE t (n INTEGER PRIMARY KEY, x TEXT, parent INTEGER REFERENCES t (n) DEFERRABLE INITIALLY DEFERRED) STRICT`);
  let commits = 0;
  const counting: LogSync = {
    ...disk,
    sync(done) {
      commits += 1;
      disk.sync(done);
    },
  };
  const queue = createWriteQueue(db, counting);
  const insert = (n: number, parent: number | null = null) => db.prepare('INSERT INTO t (n, parent) VALUES (?, ?)').run(n, parent);
  const rows = () =>
    db
      .prepare('SELECT n FROM t ORDER BY n')
      .all()
      .map(({ n }) => n);
  return { db, queue, insert, rows, commits: () => commits };
}

test('runs the writes of one turn in one transaction and rolls back a failing write alone', async () => {
  const { queue, insert, rows, commits } = setUp();
  const results = await Promise.allSettled([
    queue.write(() => insert(1), { name: 't 1' }),
    queue.write(() => {
      insert(2);
      insert(1);
    }),
    queue.write(() => insert(3)),
    queue.read(rows, 't 1'),
  ]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
  );
  assert.deepEqual(results[3]?.status === 'fulfilled' && results[3].value, [1, 3]);
  assert.equal(commits(), 1);
});

test('syncs no transaction that changed nothing, unless it read an unsynced write', async () => {
  const { queue, insert, rows, commits } = setUp();
  const isUnchanged = (value: unknown): boolean => value === null;
  assert.equal(await queue.write(() => null, { isUnchanged }), null);
  await assert.rejects(queue.write(() => assert.fail('the write fails')));
  assert.equal(commits(), 0);
  await queue.write(() => insert(1), { isUnchanged, deferSync: true });
  assert.equal(commits(), 0);
  assert.deepEqual(await queue.write(() => (rows().length === 1 ? null : 'missing'), { isUnchanged }), null);
  assert.equal(commits(), 1);
});

test('rejects all writes of a transaction whose commit fails', async () => {
  const { queue, insert, rows } = setUp();
  const results = await Promise.allSettled([queue.write(() => insert(1)), queue.write(() => insert(2, 99))]);
  for (const result of results) assert.equal(result.status === 'rejected' && result.reason.code, 'UNAVAILABLE');
  assert.deepEqual(rows(), []);
  await queue.write(() => insert(3));
  assert.deepEqual(rows(), [3]);
});

test('rejects writes on a full disk and accepts later writes', async () => {
  const { db, queue, insert, rows } = setUp();
  const pages = Number(db.prepare('PRAGMA page_count').get()?.page_count);
  db.exec(`PRAGMA max_page_count = ${pages}`);
  const tooLarge = () => db.prepare('INSERT INTO t (n, x) VALUES (9, ?)').run('x'.repeat(100_000));
  await assert.rejects(queue.write(tooLarge));
  db.exec('PRAGMA max_page_count = 100000');
  await queue.write(() => insert(1));
  assert.deepEqual(rows(), [1]);
});

test('close commits queued writes and rejects new ones', async () => {
  const { queue, insert, rows } = setUp();
  const requests = Array.from({ length: 1_200 }, (_, n) => queue.write(() => insert(n)));
  queue.close();
  await Promise.all(requests);
  assert.equal(rows().length, 1_200);
  await assert.rejects(
    queue.write(() => insert(9_999)),
    { code: 'UNAVAILABLE' },
  );
  await assert.rejects(queue.read(rows), { code: 'UNAVAILABLE' });
});

/** A log sync whose outcome and time the test controls. */
function slowDisk() {
  const waiting: ((error: Error | null) => void)[] = [];
  const disk: LogSync = { sync: (done) => void waiting.push(done), syncNow: () => undefined, close: () => undefined };
  const next = async (error: Error | null = null): Promise<void> => {
    while (waiting.length === 0) await new Promise(setImmediate);
    waiting.shift()?.(error);
  };
  return { disk, next, asked: () => waiting.length };
}

/** Records which promises have settled. */
async function states(...promises: Promise<unknown>[]): Promise<string[]> {
  const later = new Promise<string>((resolve) => void setImmediate(resolve, 'waits'));
  const told = (one: Promise<unknown>): Promise<string> => one.then(() => 'told');
  return Promise.all(promises.map((one) => Promise.race([told(one), later])));
}

test('resolves writes and reads after the sync and collects later writes in the next transaction', async () => {
  const { disk, next, asked: sendRequest } = slowDisk();
  const { queue, insert, rows } = setUp(disk);
  const written = queue.write(() => insert(1), { name: 't 1' });
  while (sendRequest() === 0) await new Promise(setImmediate);
  const read = queue.read(rows, 't 1');
  const later = [2, 3].map((n) => queue.write(() => insert(n)));
  assert.deepEqual(await states(written, read, ...later), ['waits', 'waits', 'waits', 'waits']);
  assert.deepEqual(rows(), [1], 'the next begins when the disk is free');
  await next();
  assert.deepEqual(await states(written, read, ...later), ['told', 'told', 'waits', 'waits']);
  await next();
  assert.deepEqual(await states(...later), ['told', 'told']);
  assert.deepEqual(await read, [1]);
});

test('rejects writes after a failed sync until the log is checkpointed', async () => {
  const { disk, next } = slowDisk();
  const { db, queue, insert, rows } = setUp(disk);
  const lost = queue.write(() => insert(1));
  await next(new Error('EIO'));
  await assert.rejects(lost, { code: 'UNAVAILABLE' });

  const healing: string[] = [];
  const prepare = db.prepare.bind(db);
  db.prepare = (sql: string, ...rest) => {
    if (!sql.includes('wal_checkpoint')) return prepare(sql, ...rest);
    healing.push(sql);
    return { get: () => ({ busy: healing.length === 1 ? 1 : 0 }) } as unknown as ReturnType<typeof prepare>;
  };
  await assert.rejects(
    queue.write(() => insert(2)),
    { code: 'UNAVAILABLE' },
  );
  const kept = queue.write(() => insert(3));
  await next();
  await kept;
  const more = queue.write(() => insert(4));
  await next();
  await more;
  assert.equal(healing.length, 2);
  assert.deepEqual(rows(), [1, 3, 4]);
});

test('resolves a write with deferSync after the commit and syncs it with the next write', async () => {
  const { disk, next, asked } = slowDisk();
  const { queue, insert, rows } = setUp(disk);
  const keptItems: number[] = [];
  const onDisk = (n: number) => () => void keptItems.push(n);
  const chain = async (n: number): Promise<void> => {
    await queue.write(() => insert(n), { deferSync: true, onSynced: onDisk(n) });
    await queue.write(() => insert(n + 1), { deferSync: true, onSynced: onDisk(n + 1) });
    await queue.write(() => insert(n + 2), { onSynced: onDisk(n + 2) });
  };
  const chains = [chain(1), chain(11)];
  const alone = queue.write(() => insert(20));
  while (asked() === 0) await new Promise(setImmediate);
  assert.deepEqual(rows(), [1, 2, 3, 11, 12, 13, 20]);
  assert.deepEqual(await states(...chains, alone), ['waits', 'waits', 'waits']);
  assert.deepEqual([keptItems, asked()], [[], 1]);
  await next();
  assert.deepEqual(await states(...chains, alone), ['told', 'told', 'told']);
  assert.deepEqual(keptItems, [1, 11, 2, 12, 3, 13]);
});

test('syncs a deferred write without a successor and limits consecutive deferrals', async () => {
  const { queue, insert, rows, commits } = setUp();
  const kept = Promise.withResolvers<unknown>();
  await queue.write(() => insert(1), { deferSync: true, onSynced: kept.resolve });
  await kept.promise;
  assert.equal(commits(), 1);
  const alone = queue.write(() => insert(2));
  let over = false;
  const chain = (async () => {
    for (let n = 10; !over; n += 1) await queue.write(() => insert(n), { deferSync: true });
  })();
  await alone;
  over = true;
  await chain;
  assert.ok(rows().length > 3);
});

test('confirms a write after a failed sync when a later write is synced', async () => {
  const { disk, next } = slowDisk();
  const { db, queue, insert, rows } = setUp(disk);
  const healed: string[] = [];
  const prepare = db.prepare.bind(db);
  db.prepare = (sql: string, ...rest) => {
    if (!sql.includes('wal_checkpoint')) return prepare(sql, ...rest);
    healed.push(sql);
    return { get: () => ({ busy: healed.length === 1 ? 1 : 0 }) } as unknown as ReturnType<typeof prepare>;
  };
  await queue.write(() => insert(1), { deferSync: true });
  await next(new Error('EIO'));
  await assert.rejects(
    queue.write(() => insert(2)),
    { code: 'UNAVAILABLE' },
    'the log could not be checkpointed',
  );
  const read = queue.read(rows);
  await next();
  assert.deepEqual([await read, healed.length], [[1], 2], 'nobody reads what may be lost');
  const follows = queue.write(() => insert(3));
  await next();
  await follows;
});

test('writeDelayed runs with the next write or after a delay', async () => {
  const { queue, insert, rows, commits } = setUp();
  const later = queue.writeDelayed(() => insert(1));
  await queue.write(() => insert(2));
  await later;
  assert.equal(commits(), 1);
  await queue.writeDelayed(() => insert(3));
  assert.equal(commits(), 2);
  assert.deepEqual(rows(), [1, 2, 3]);
});

test('reads a document without waiting for writes of other documents', async () => {
  const { disk, next } = slowDisk();
  const { queue, insert, rows } = setUp(disk);
  const written = queue.write(() => insert(1), { name: 't 1' });
  assert.deepEqual(await queue.read(rows, 't 2'), []);
  assert.deepEqual(await queue.read(rows), []);
  const same = queue.read(rows, 't 1');
  await next();
  await written;
  assert.deepEqual(await same, [1]);
});
