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

/** Which of these files of an index there are once something is remembered, and found. */
async function files(settings: object, ...paths: string[]): Promise<boolean[]> {
  await using data = await tempDir();
  await using app = await testService(memory, { as: admin, settings: { memory: settings }, env: { SWITCHYARD_DATA: data.path } });
  await app.bus.call('memory.store', { content: CONTENT });
  assert.equal((await app.bus.call('memory.search', { query: 'lighthouse' })).results[0]?.content, CONTENT);
  return paths.map((path) => existsSync(join(data.path, 'index', path)));
}

test('the index is where the settings want it', async () => {
  assert.deepEqual(await files({}, 'memory/1/index.db'), [true]);
  assert.deepEqual(await files({ dbPath: 'fast/of-memories' }, 'fast/of-memories/1/index.db', 'memory'), [true, false]);
});

test('what is written goes to a log first, or where that may not be to no file beside it', async () => {
  assert.deepEqual(await files({}, 'memory/1/index.db-wal'), [true]);
  assert.deepEqual(await files({ walMode: false }, 'memory/1/index.db', 'memory/1/index.db-wal'), [true, false]);
});

test('an index that is to be elsewhere is made there, and nothing of it stays behind', async () => {
  await using data = await tempDir();
  await using app = await testService(memory, { as: admin, env: { SWITCHYARD_DATA: data.path } });
  const left = join(data.path, 'index/memory/1/index.db');
  const holds = (): boolean => [left, `${left}-wal`].some((file) => existsSync(file) && readFileSync(file).includes('Anselm'));
  const finds = async (): Promise<boolean> => (await app.bus.call('memory.search', { query: 'lighthouse' })).results.length === 1;
  await app.bus.call('memory.store', { content: CONTENT });
  assert.deepEqual([await finds(), holds()], [true, true]);

  const bus = await app.host.connect('registry');
  await (await bus.kv(CONFIG_BUCKET)).put('head', Buffer.from(JSON.stringify({ layer: { memory: { dbPath: 'moved' } } })));
  for (const until = performance.now() + 10_000; !existsSync(join(data.path, 'index/moved/1/index.db')); await nextTurn()) {
    assert.ok(performance.now() < until, 'it is not moved');
    assert.equal(await finds(), true);
  }
  assert.deepEqual([await finds(), holds()], [true, false]);
});

test('nothing outside of the indexes can be named', () => {
  for (const dbPath of ['/etc', '../sessions', 'a/../../b', './a', 'a/..', '']) {
    const { error } = sections.memory.safeParse({ dbPath });
    assert.deepEqual(
      error?.issues.map(({ path }) => path),
      [['dbPath']],
      dbPath,
    );
  }
});
