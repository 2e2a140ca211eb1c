import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { z } from 'zod';
import { a, items, newItem } from '../contract/fixture.contract.ts';
import { collection, json, openStore } from '../index.ts';
import { storeContract } from '../contract/store.contract.ts';
import { openDatabase } from './database.ts';

const root = mkdtempSync(join(tmpdir(), 'store-'));
after(() => rmSync(root, { recursive: true, force: true }));

storeContract('SQLite', (database) => openStore(`sqlite:${join(root, database)}`, { service: 'contract', strict: true }));

test('creates files with owner-only permissions', async () => {
  const dir = join(root, 'modes', 'deep');
  const store = await openStore(`sqlite:${dir}`, { service: 'sessions' });
  await (await store.open({ items })).items.for(a).insert(newItem('1'));
  assert.equal(statSync(dir).mode & 0o777, 0o700);
  const files = readdirSync(dir);
  assert.deepEqual(files.sort(), ['sessions.db', 'sessions.db-shm', 'sessions.db-wal']);
  for (const file of files) assert.equal(statSync(join(dir, file)).mode & 0o777, 0o600, file);
  await store.close();
  assert.ok(!existsSync(join(dir, 'sessions.db-wal')), 'a clean close leaves one file');
});

test('a copied database has another identity, a moved one the same', async () => {
  const identityIn = async (dir: string): Promise<string> => {
    const store = await openStore(`sqlite:${join(root, dir)}`, { service: 'sessions' });
    await store.close();
    return store.identity;
  };
  const original = await identityIn('original');
  cpSync(join(root, 'original'), join(root, 'copy'), { recursive: true });
  assert.notEqual(await identityIn('copy'), original);
  renameSync(join(root, 'original'), join(root, 'moved'));
  assert.equal(await identityIn('moved'), original);
});

test('syncs commits and uses strict tables', () => {
  const { db } = openDatabase(join(root, 'settings', 'sessions.db'));
  const read = (name: string) => Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0];
  const settings = ['journal_mode', 'synchronous', 'busy_timeout', 'foreign_keys', 'trusted_schema', 'journal_size_limit'];
  assert.deepEqual(settings.map(read), ['wal', 1, 5000, 1, 0, 67_108_864]);
  db.close();
});

test('keeps every acknowledged write and its event after kill -9', async () => {
  const url = `sqlite:${join(root, 'killed')}`;
  const program = `
    const { openStore } = await import(${JSON.stringify(import.meta.resolve('../index.ts'))});
    const { a, items, newItem } = await import(${JSON.stringify(import.meta.resolve('../contract/fixture.contract.ts'))});
    const store = await openStore(${JSON.stringify(url)}, { service: 'sessions' });
    const mine = (await store.open({ items })).items.for(a);
    await store.publishTo(({ id }) => {
      process.stdout.write('published ' + id + '\\n');
      return new Promise(() => {});
    });
    for (let n = 0; ; n += 1) {
      await Promise.all([0, 1, 2].map(async (i) => {
        const id = n + '-' + i;
        await mine.insert(newItem(id), { emit: [{ name: 'item:made', payload: { id } }] });
        process.stdout.write(id + '\\n');
      }));
    }`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  const lines = (published: boolean): string[] =>
    text
      .split('\n')
      .slice(0, -1)
      .filter((line) => line.startsWith('published ') === published);
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    text += String(chunk);
    // Kills the process during its work, after the first acknowledged writes.
    if (lines(true).length > 9 && lines(false).length > 9) child.kill('SIGKILL');
  }
  const [begun, acknowledged] = [lines(true), lines(false)];

  const store = await openStore(url, { service: 'sessions' });
  const mine = (await store.open({ items })).items.for(a);
  for (const id of acknowledged) assert.ok(await mine.get(id), id);
  const [owed, ids] = [new Set<string>(), new Set<string>()];
  const keptCount = await mine.count({});
  const all = Promise.withResolvers<void>();
  await store.publishTo(async ({ id, payload }) => {
    owed.add((payload as { id: string }).id);
    ids.add(`published ${id}`);
    if (owed.size === keptCount) all.resolve();
  });
  await all.promise;
  await store.close();
  assert.equal(owed.size, keptCount);
  assert.deepEqual(
    acknowledged.filter((id) => !owed.has(id)),
    [],
  );
  assert.ok(
    begun.every((line) => ids.has(line)),
    'what was under way comes again under its id',
  );
});

test('updates indexes after a changed declaration and keeps documents', async () => {
  const dir = join(root, 'indexes');
  const indexes = () => {
    const { db } = openDatabase(join(dir, 'sessions.db'));
    const rows = db
      .prepare(`SELECT name, rootpage FROM sqlite_master WHERE tbl_name = 'c_items' AND type = 'index' AND sql IS NOT NULL ORDER BY name`)
      .all();
    db.close();
    return new Map(rows.map(({ name, rootpage }) => [String(name), Number(rootpage)]));
  };
  const reopen = async (spec: typeof items) => {
    const store = await openStore(`sqlite:${dir}`, { service: 'sessions' });
    const mine = (await store.open({ items: spec })).items.for(a);
    await mine.replace(newItem('1', { slug: 's' }));
    await mine.replace(newItem('2', { group: 'g', rank: 1 }));
    assert.equal(await mine.count({}), 2);
    await store.close();
    return indexes();
  };
  const first = await reopen(items);
  assert.deepEqual(
    [...first.keys()],
    [
      'items.across.id',
      'items.across.n',
      'items.expires',
      'items.index.n',
      'items.index.title.n',
      'items.unique.group.rank',
      'items.unique.slug',
    ],
  );
  assert.deepEqual(await reopen(items), first, 'what did not change is not built again');
  const { expires, ...lasting } = items;
  assert.ok(expires);
  const changed = await reopen({ ...lasting, indexes: [{ fields: ['n', 'title'] }], unique: [['slug']] });
  assert.deepEqual([...changed.keys()], ['items.index.n.title', 'items.unique.slug']);
});

test('rejects an invalid collection when it is opened', async () => {
  const store = await openStore(`sqlite:${join(root, 'refused')}`, { service: 'sessions' });
  const id = z.string();
  const refused = [
    collection({ name: 'Robert"; DROP', key: 'id', schema: z.object({ id }) }),
    collection({ name: 'x', key: 'id', schema: z.object({ id, tenant: z.string() }) }),
    collection({ name: 'x', key: 'id', schema: z.object({ id, "a'.b": z.string() }) }),
    collection({ name: 'x', key: 'id', schema: z.record(z.string(), z.unknown()) }),
    collection({ name: 'x', key: 'id', schema: z.object({ id }), indexes: [{ fields: ['nope' as 'id'] }] }),
    collection({ name: 'x', key: 'id', schema: z.object({ id, foreign: z.unknown() }) }),
    collection({ name: 'x', key: 'id', schema: z.object({ id, foreign: z.array(z.object({ names: z.record(z.string(), z.string()) })) }) }),
    collection({ name: 'x', key: 'id', schema: z.object({ id, foreign: z.object({ inner: json() }).optional() }) }),
    collection({ name: 'x', key: 'id', schema: z.object({ id, foreign: json(z.string()) }), indexes: [{ fields: ['foreign'] }] }),
  ];
  for (const spec of refused) await assert.rejects(store.open({ spec }), { code: 'INTERNAL' });
  await store.close();
});

test('rejects a document nested too deeply for SQLite', async () => {
  const store = await openStore(`sqlite:${join(root, 'deep')}`, { service: 'sessions' });
  const Tree: z.ZodType<unknown> = z.array(z.lazy(() => Tree));
  const trees = collection({ name: 'trees', key: 'id', schema: z.object({ id: z.string(), tree: Tree }) });
  const mine = (await store.open({ trees })).trees.for(a);
  await mine.insert({ id: '1', tree: nested(900) });
  await assert.rejects(mine.insert({ id: '2', tree: nested(1_001) }), { code: 'INTERNAL', message: /nested too deeply/ });
  await assert.rejects(mine.update({ id: '1' }, { set: { tree: nested(1_001) } }), { code: 'INTERNAL' });
  assert.equal(await mine.count({ tree: { exists: true } }), 1);
  await store.close();
});

test('fails with one sentence for an unknown URL, an unusable directory and a corrupt file', async () => {
  await refuses(
    'postgres://user:hunter2@db/x',
    'FAILED_PRECONDITION',
    /^no store supports postgres:; write sqlite:DIR or mongodb:\/\/host:port$/,
  );
  await refuses(
    '/var/lib/hunter2',
    'FAILED_PRECONDITION',
    /^no store supports a URL without a scheme; write sqlite:DIR or mongodb:\/\/host:port$/,
  );
  await refuses('sqlite:', 'FAILED_PRECONDITION', /names no directory/);
  writeFileSync(join(root, 'a-file'), '');
  await refuses(
    `sqlite:${join(root, 'a-file', 'x')}`,
    'FAILED_PRECONDITION',
    /^cannot write to the data directory .* \(ENOTDIR\); make it writable or choose another$/,
  );
  mkdirSync(join(root, 'damaged'));
  writeFileSync(join(root, 'damaged', 'sessions.db'), 'not a database, and long enough to be read as one'.repeat(100));
  await refuses(`sqlite:${join(root, 'damaged')}`, 'DATA_LOSS', /is damaged or not a database/);
});

test('detects a corrupt file that was not closed cleanly at the start', async () => {
  const dir = join(root, 'unclean');
  const { db } = openDatabase(join(dir, 'sessions.db'));
  db.exec(`CREATE TABLE t (x TEXT) STRICT; CREATE INDEX i ON t (x); INSERT INTO t VALUES ('a'), ('b');`);
  db.close();
  const damaged = openDatabase(join(dir, 'sessions.db')).db;
  damaged.enableDefensive(false);
  damaged.exec(`PRAGMA writable_schema = ON; DELETE FROM sqlite_master WHERE name = 'i'; PRAGMA writable_schema = RESET;`);
  const child = spawn(process.execPath, [
    '-e',
    `new (require('node:sqlite').DatabaseSync)(${JSON.stringify(join(dir, 'sessions.db'))}).exec('BEGIN IMMEDIATE; ROLLBACK')`,
  ]);
  await once(child, 'exit');
  assert.ok(existsSync(join(dir, 'sessions.db-wal')));
  await assert.rejects(openStore(`sqlite:${dir}`, { service: 'sessions' }), { code: 'DATA_LOSS' });
  damaged.close();
});

async function refuses(url: string, code: string, sentence: RegExp): Promise<void> {
  await assert.rejects(openStore(url, { service: 'sessions' }), (error) => {
    assert.ok(error instanceof Error && 'code' in error);
    assert.equal(error.code, code);
    assert.match(error.message, sentence);
    return true;
  });
}

function nested(depth: number): unknown {
  return JSON.parse('['.repeat(depth) + ']'.repeat(depth));
}
