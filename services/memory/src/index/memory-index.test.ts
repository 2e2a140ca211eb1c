import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { Bus } from '@switchyard/bus';
import { principal, tempDir, testService } from '@switchyard/testkit';
import { memory } from '../service.ts';

const admin = principal({ scopes: ['*'] });
/** Writes of another replica are found within this time. */
const WITHIN_MS = 1_000;
const QUESTIONS = ['tide', 'harbour master', 'crane rope', 'lighthouses', 'wind in the sails', 'number 17', 'nothing of it'];
const WORDS = ['tide', 'harbour', 'crane', 'rope', 'lighthouse', 'wind', 'sail', 'master', 'ship', 'keel'];

function createText(n: number): string {
  return `Note number ${n}: ${[1, 2, 3, 5].map((k) => WORDS[(n * k + k) % WORDS.length]).join(' ')}.`;
}

/** Everything that a client can see of an index. */
async function readAnswers(bus: Bus): Promise<unknown> {
  const searches = await Promise.all(QUESTIONS.map((query) => bus.call('memory.search', { query, limit: 20 })));
  const { cacheHitRate: _, ...stats } = await bus.call('memory.stats', {});
  return { searches, stats, pages: await bus.call('memory.browse', { limit: 50, sort: 'oldest' }) };
}

/** Waits for a condition and returns the time. */
async function waitUntil(isTrue: () => Promise<boolean>): Promise<number> {
  const began = performance.now();
  while (!(await isTrue())) {
    assert.ok(performance.now() - began < 30 * WITHIN_MS, 'the condition did not hold after thirty times as long');
    await wait(10);
  }
  return performance.now() - began;
}

test('rebuilds a deleted index from the documents', async () => {
  await using data = await tempDir();
  let before: unknown;
  {
    await using app = await testService(memory, { data: data.path, as: admin });
    const ids: string[] = [];
    for (let n = 0; n < 60; n++) {
      const { id } = await app.bus.call('memory.store', {
        content: createText(n),
        tags: [`t${n % 3}`],
        memory_type: n % 2 ? 'semantic' : 'working',
      });
      ids.push(id);
    }
    for (const id of ids.filter((_, n) => n % 5 === 0)) await app.bus.call('memory.delete', { id });
    before = await readAnswers(app.bus);
  }
  await rm(join(data.path, 'index'), { recursive: true });
  await using again = await testService(memory, { data: data.path, as: admin });
  assert.deepEqual(await readAnswers(again.bus), before);
});

test('rebuilds an index of another version from the documents', async () => {
  await using data = await tempDir();
  {
    await using app = await testService(memory, { data: data.path, as: admin });
    await app.bus.call('memory.store', { content: '我们在北京开会' });
    assert.equal((await app.bus.call('memory.search', { query: '北京' })).results.length, 1);
  }
  {
    using db = new DatabaseSync(join(data.path, 'index/memory/1/index.db'));
    db.exec("DELETE FROM words; DELETE FROM entries; UPDATE meta SET value = value - 1 WHERE name = 'schemaVersion'");
  }
  await using again = await testService(memory, { data: data.path, as: admin });
  assert.equal((await again.bus.call('memory.search', { query: '北京' })).results.length, 1);
});

test('a replica finds writes and deletions of another within a second', async () => {
  await using data = await tempDir();
  await using one = await testService(memory, { data: data.path, as: admin });
  await using other = await testService(memory, { data: data.path, as: admin });
  await one.bus.call('memory.store', { content: 'The first of all.' });
  const finds = async (query: string): Promise<boolean> => (await other.bus.call('memory.search', { query })).results.length === 1;
  await waitUntil(() => finds('first'));
  const { id } = await one.bus.call('memory.store', { content: 'Something about lighthouses.' });
  const took = await waitUntil(() => finds('lighthouse'));
  // Other tests share the processors.
  assert.ok(took <= 15 * WITHIN_MS, `${took} ms`);
  await one.bus.call('memory.delete', { id });
  assert.equal(await finds('lighthouse'), false, 'at once, because hits are checked against the documents');
  await waitUntil(async () => (await other.bus.call('memory.stats', {})).totalEntries === 1);
  assert.deepEqual(await readAnswers(other.bus), await readAnswers(one.bus));
});

test('a restarted replica catches up', async () => {
  await using data = await tempDir();
  await using one = await testService(memory, { data: data.path, as: admin });
  const { id } = await one.bus.call('memory.store', { content: 'Soon to be forgotten.' });
  {
    await using other = await testService(memory, { data: data.path, as: admin });
    assert.equal((await other.bus.call('memory.search', { query: 'forgotten' })).results.length, 1);
  }
  await one.bus.call('memory.delete', { id });
  await one.bus.call('memory.store', { content: 'Written meanwhile.' });
  await using back = await testService(memory, { data: data.path, as: admin });
  assert.deepEqual(await readAnswers(back.bus), await readAnswers(one.bus));
  assert.equal((await back.bus.call('memory.stats', {})).totalEntries, 1);
});

test('answers without an index while no memory is stored', async () => {
  await using data = await tempDir();
  await using app = await testService(memory, { data: data.path, as: admin });
  assert.deepEqual(await app.bus.call('memory.search', { query: 'anything' }), { results: [] });
  assert.equal((await app.bus.call('memory.stats', {})).totalEntries, 0);
  assert.equal((await app.bus.call('memory.browse', {})).total, 0);
  assert.equal((await app.bus.call('memory.embeddingCache', {})).vecAvailable, false);
  await assert.rejects(rm(join(data.path, 'index')), { code: 'ENOENT' });
});

test('stores and finds concurrent writes', async () => {
  await using app = await testService(memory, { as: admin });
  const stored = await Promise.all(Array.from({ length: 200 }, (_, n) => app.bus.call('memory.store', { content: createText(n) })));
  assert.equal(new Set(stored.map(({ id }) => id)).size, 200);
  const { totalEntries, embeddedEntries } = await app.bus.call('memory.stats', {});
  assert.deepEqual([totalEntries, embeddedEntries], [200, 0]);
});

test('reports word search only if embedding is disabled', async () => {
  await using app = await testService(memory, { as: admin, settings: { embedding: { enabled: false } } });
  await app.bus.call('memory.store', { content: 'The physiotherapist called.' });
  assert.deepEqual(await app.bus.call('memory.search', { query: 'fysiotherapist' }), { results: [] });
  assert.equal((await app.bus.call('memory.search', { query: 'physiotherapist' })).results[0]?.score, 1);
  const { enabled, provider, vecAvailable } = await app.bus.call('memory.embeddingCache', {});
  assert.deepEqual({ enabled, provider, vecAvailable }, { enabled: false, provider: null, vecAvailable: false });
  assert.equal((await app.bus.call('memory.stats', {})).embeddingProvider, undefined);
});
