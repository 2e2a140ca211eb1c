import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CONFIG_BUCKET, sections } from '@switchyard/contracts';
import { principal, tempDir, testService } from '@switchyard/testkit';
import { memory } from '../service.ts';

const admin = principal({ scopes: ['*'] });
const CONTENT = 'The lighthouse keeper is called Anselm.';

/** Which of these index files exist after a memory was stored and found. */
async function files(settings: object, ...paths: string[]): Promise<boolean[]> {
  await using data = await tempDir();
  await using app = await testService(memory, { as: admin, settings: { memory: settings }, env: { SWITCHYARD_DATA: data.path } });
  await app.bus.call('memory.store', { content: CONTENT });
  assert.equal((await app.bus.call('memory.search', { query: 'lighthouse' })).results[0]?.content, CONTENT);
  return paths.map((path) => existsSync(join(data.path, 'index', path)));
}

test('memory.dbPath selects the directory of the index', async () => {
  assert.deepEqual(await files({}, 'memory/1/index.db'), [true]);
  assert.deepEqual(await files({ dbPath: 'fast/of-memories' }, 'fast/of-memories/1/index.db', 'memory'), [true, false]);
});

test('memory.walMode controls the write-ahead log', async () => {
  assert.deepEqual(await files({}, 'memory/1/index.db-wal'), [true]);
  assert.deepEqual(await files({ walMode: false }, 'memory/1/index.db', 'memory/1/index.db-wal'), [true, false]);
});

test('a changed dbPath rebuilds the index there and empties the old one', async () => {
  await using data = await tempDir();
  await using app = await testService(memory, { as: admin, env: { SWITCHYARD_DATA: data.path } });
  const left = join(data.path, 'index/memory/1/index.db');
  const holds = (): boolean => [left, `${left}-wal`].some((file) => existsSync(file) && readFileSync(file).includes('anselm'));
  const finds = async (): Promise<boolean> => (await app.bus.call('memory.search', { query: 'lighthouse' })).results.length === 1;
  await app.bus.call('memory.store', { content: CONTENT });
  assert.deepEqual([await finds(), holds()], [true, true]);

  const bus = await app.host.connect('registry');
  await (await bus.kv(CONFIG_BUCKET)).put('head', Buffer.from(JSON.stringify({ layer: { memory: { dbPath: 'moved' } } })));
  for (const deadline = performance.now() + 10_000; !existsSync(join(data.path, 'index/moved/1/index.db')); await nextTurn()) {
    assert.ok(performance.now() < deadline, 'the index was not moved');
    assert.equal(await finds(), true);
  }
  assert.deepEqual([await finds(), holds()], [true, false]);
});

test('rejects a dbPath outside of the index directory', () => {
  for (const dbPath of ['/etc', '../sessions', 'a/../../b', './a', 'a/..', '']) {
    const { error } = sections.memory.safeParse({ dbPath });
    assert.deepEqual(
      error?.issues.map(({ path }) => path),
      [['dbPath']],
      dbPath,
    );
  }
});
