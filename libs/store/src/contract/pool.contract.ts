import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test, type TestContext } from 'node:test';
import { a, items, newItem, type Item, type OpenStore } from './fixture.contract.ts';
import type { Documents } from '../port/store.ts';

const CONNECTIONS = 10;

/** Ten connections to one database, as with ten replicas. */
export function poolContract(open: OpenStore): void {
  async function pool(t: TestContext): Promise<[Documents<Item>, ...Documents<Item>[]]> {
    const name = randomUUID();
    const connect = async (): Promise<Documents<Item>> => {
      const store = await open(name);
      t.after(() => store.close());
      return (await store.open({ items })).items.for(a);
    };
    const [first, ...others] = await Promise.all(Array.from({ length: CONNECTIONS }, connect));
    assert.ok(first);
    return [first, ...others];
  }

  test('ten connections: applies every increment and push and returns each result', async (t) => {
    const all = await pool(t);
    await all[0].insert(newItem('1', { tags: [] }));
    const change = (mine: Documents<Item>, n: number) => mine.update({ id: '1' }, { inc: { n: 1 }, push: { tags: `${n}` } });
    const told = await Promise.all(all.flatMap((mine) => Array.from({ length: 10 }, (_, n) => change(mine, n))));
    assert.equal(new Set(told.map((item) => item?.n)).size, 100);
    const counted = await all[1]?.get('1');
    assert.equal(counted?.n, 100);
    assert.equal(counted.tags?.length, 100);
  });

  test('ten connections: each document is claimed once', async (t) => {
    const all = await pool(t);
    await Promise.all(Array.from({ length: 50 }, async (_, n) => all[n % CONNECTIONS]?.insert(newItem(`k${n}`, { title: 'queued', n }))));
    const claim = (mine: Documents<Item>) => mine.claim({ title: 'queued' }, { set: { title: 'taken' } }, { sort: [['n', 'asc']] });
    const claimed = (await Promise.all(all.flatMap((mine) => Array.from({ length: 8 }, () => claim(mine))))).filter((one) => one !== null);
    assert.equal(claimed.length, 50);
    assert.equal(new Set(claimed.map(({ id }) => id)).size, 50);
  });

  test('ten connections: one insert, one unique value and one guard succeed, all calls settle', async (t) => {
    const all = await pool(t);
    const keys = await Promise.allSettled(all.map((mine) => mine.insert(newItem('1'))));
    const slugs = await Promise.allSettled(all.map((mine, n) => mine.insert(newItem(`s${n}`, { slug: 's' }))));
    for (const results of [keys, slugs]) {
      const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as { code: string }] : []));
      assert.deepEqual(
        refused.map(({ code }) => code),
        Array.from({ length: CONNECTIONS - 1 }, () => 'ALREADY_EXISTS'),
      );
    }
    const guarded = await Promise.all(all.map((mine, n) => mine.update({ id: '1' }, { set: { rank: n }, inc: { n: 1 }, if: { n: 0 } })));
    assert.equal(guarded.filter((one) => one !== null).length, 1);
    const replaced = await Promise.all(all.map((mine, n) => mine.replace(newItem('new', { n }))));
    assert.deepEqual(
      replaced.map((one) => one?.n),
      all.map((_, n) => n),
    );
    assert.equal((await all[0].find({ id: 'new' })).items.length, 1);
  });
}
