import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { tempDir } from '@switchyard/testkit';
import type { AtOnce } from './open-at-once.fixture.ts';
import { openSearchIndex } from './open-search-index.ts';
import type { SearchEntry, SearchIndex, SearchQuery } from './search-index.ts';

const OPTIONS = { identity: 'database-1', cachedVectors: 2 };

function entry(id: string, text: string, more: Partial<SearchEntry> = {}): SearchEntry {
  const names = { tenant: 't', group: 'g', owner: '', kind: 'semantic', trust: 'learned', tags: [], session: '' };
  return { ...names, id, text, bytes: text.length, createdAt: 1, expiresAt: undefined, version: 1, ...more };
}

async function found(index: SearchIndex, text: string, more: Partial<SearchQuery> = {}): Promise<string[]> {
  const { hits } = await index.search({ tenant: 't', group: 'g', text, limit: 10, now: 1_000, vectors: true, ...more });
  return hits.map(({ id }) => id);
}

test('words are found in any form, case and order, and what is no word means nothing', async () => {
  await using dir = await tempDir();
  await using index = openSearchIndex(dir.path, OPTIONS);
  await index.apply([entry('a', 'The Café in Malmö opens at nine.'), entry('b', 'Running shoes')], 1);
  const words = { vectors: false };
  assert.deepEqual(await found(index, 'MALMO cafe', words), ['a']);
  assert.deepEqual(await found(index, 'run', words), ['b']);
  for (const odd of ['"', 'a OR b', 'NEAR(', 'text : *', '', '   ', '💥', 'the of and', "'; DROP TABLE entries"]) {
    assert.deepEqual(await found(index, odd, words), [], odd);
  }
  assert.deepEqual(await found(index, 'part : opens) OR (text : nine', words), ['a']);
});

test('a misspelt word is found by its pieces, and only where vectors are wanted', async () => {
  await using dir = await tempDir();
  await using index = openSearchIndex(dir.path, OPTIONS);
  await index.apply([entry('a', 'The physiotherapist called.'), entry('b', 'Buy milk and bread.')], 1);
  assert.deepEqual(await found(index, 'fysiotherapist'), ['a']);
  assert.deepEqual(await found(index, 'fysiotherapist', { vectors: false }), []);
});

test('a search stays in its group of its tenant, whatever those are called', async () => {
  await using dir = await tempDir();
  await using index = openSearchIndex(dir.path, OPTIONS);
  const places = [
    ['t', 'g'],
    ['t', 'h'],
    ['u', 'g'],
    ['t g', ''],
    ['', 't g'],
  ] as const;
  await index.apply(
    places.map(([tenant, group], n) => entry(`id-${n}`, 'secret plan', { tenant, group })),
    1,
  );
  for (const [n, [tenant, group]] of places.entries()) assert.deepEqual(await found(index, 'secret', { tenant, group }), [`id-${n}`]);
});

test('owners, trust and the end of an entry narrow both lanes and every count', async () => {
  await using dir = await tempDir();
  await using index = openSearchIndex(dir.path, OPTIONS);
  await index.apply(
    [
      entry('shared', 'harbour crane'),
      entry('anns', 'harbour crane', { owner: 'ann' }),
      entry('foreign', 'harbour crane', { trust: 'external' }),
      entry('over', 'harbour crane', { expiresAt: 1_000 }),
      entry('lasting', 'harbour crane', { expiresAt: 1_001 }),
    ],
    1,
  );
  for (const vectors of [true, false]) {
    assert.deepEqual((await found(index, 'harbour', { vectors })).toSorted(), ['anns', 'foreign', 'lasting', 'shared']);
    assert.deepEqual((await found(index, 'harbour', { vectors, owners: ['', 'bob'] })).toSorted(), ['foreign', 'lasting', 'shared']);
    assert.deepEqual(await found(index, 'harbour', { vectors, trust: ['external'] }), ['foreign']);
    assert.deepEqual(await found(index, 'harbour', { vectors, owners: [] }), []);
  }
  const scope = { tenant: 't', group: 'g', owners: [''], now: 1_000 };
  assert.equal((await index.stats(scope)).entries, 3);
  assert.equal((await index.list({ ...scope, oldestFirst: false, offset: 0, limit: 10 })).total, 3);
  assert.deepEqual([await index.has(scope), await index.has({ ...scope, owners: ['bob'] })], [true, false]);
});

test('one that is wanted is found behind any number of better ones that are not', async () => {
  await using dir = await tempDir();
  await using index = openSearchIndex(dir.path, OPTIONS);
  const others = Array.from({ length: 300 }, (_, n) => entry(`o${n}`, 'tide table', { owner: 'bob' }));
  await index.apply([...others, entry('mine', 'a tide table among many other words that make it rank lower')], 1);
  assert.deepEqual(await found(index, 'tide table', { owners: [''], vectors: false }), ['mine']);
  assert.deepEqual(await found(index, 'tide table', { owners: [''] }), ['mine']);
});

test('a later version takes the place of an earlier one, and never the other way round', async () => {
  await using dir = await tempDir();
  await using index = openSearchIndex(dir.path, OPTIONS);
  await index.apply([entry('a', 'old words')], 1);
  await index.apply([entry('a', 'new sentence', { version: 3 })], 2);
  await index.apply([entry('a', 'late words', { version: 2 })], 3);
  assert.deepEqual([await found(index, 'words'), await found(index, 'sentence')], [[], ['a']]);
  await index.apply([{ tenant: 't', id: 'a', version: 4, gone: true }], 4);
  await index.apply([entry('a', 'back again', { version: 3 })], 5);
  assert.deepEqual([await found(index, 'sentence'), await found(index, 'again')], [[], []]);
  assert.equal((await index.stats({ tenant: 't', now: 0 })).entries, 0);
});

test('what was written is there after a restart, with how far it has followed', async () => {
  await using dir = await tempDir();
  {
    await using index = openSearchIndex(dir.path, OPTIONS);
    assert.equal(await index.followedTo(), null);
    await index.apply([entry('a', 'kept')], 77);
  }
  await using again = openSearchIndex(dir.path, OPTIONS);
  assert.equal(await again.followedTo(), 77);
  assert.deepEqual(await found(again, 'kept'), ['a']);
});

test('an index of another database, and a damaged one, is begun anew', async () => {
  await using dir = await tempDir();
  const write = async (): Promise<void> => {
    await using index = openSearchIndex(dir.path, OPTIONS);
    await index.apply([entry('a', 'kept')], 77);
  };
  await write();
  {
    await using other = openSearchIndex(dir.path, { ...OPTIONS, identity: 'database-2' });
    assert.deepEqual([await other.followedTo(), await found(other, 'kept')], [null, []]);
  }
  await write();
  writeFileSync(join(dir.path, '1', 'index.db'), 'no database at all');
  await using anew = openSearchIndex(dir.path, OPTIONS);
  assert.equal(await anew.followedTo(), null);
});

test('an index that has lost words of what it lists is begun anew, and one that has none of what is gone is not', async () => {
  await using dir = await tempDir();
  const file = join(dir.path, '1', 'index.db');
  {
    await using index = openSearchIndex(dir.path, OPTIONS);
    await index.apply([entry('a', 'kept'), entry('b', 'taken out')], 77);
    await index.apply([{ tenant: 't', id: 'b', version: 2, gone: true }], 78);
  }
  {
    await using whole = openSearchIndex(dir.path, OPTIONS);
    assert.equal(await whole.followedTo(), 78);
  }
  {
    using db = new DatabaseSync(file);
    db.exec('DELETE FROM words');
  }
  await using anew = openSearchIndex(dir.path, OPTIONS);
  assert.equal(await anew.followedTo(), null);
});

test('one that turns out to be damaged while it is used ends, and is begun anew by whoever opens it next', async () => {
  await using dir = await tempDir();
  {
    await using index = openSearchIndex(dir.path, OPTIONS);
    await index.apply([entry('a', 'kept')], 77);
  }
  {
    using db = new DatabaseSync(join(dir.path, '1', 'index.db'), { defensive: false });
    db.exec("UPDATE words_data SET block = x'ff' WHERE id > 10");
  }
  await using index = openSearchIndex(dir.path, OPTIONS);
  assert.equal(await index.followedTo(), 77);
  await assert.rejects(found(index, 'kept'), { code: 'UNAVAILABLE' });
  assert.equal(index.alive, false);
  await using anew = openSearchIndex(dir.path, OPTIONS);
  assert.equal(await anew.followedTo(), null);
});

test('two that are open at once on one directory have a file each', async () => {
  await using dir = await tempDir();
  await using one = openSearchIndex(dir.path, OPTIONS);
  await one.apply([entry('a', 'extraordinary')], 1);
  await using other = openSearchIndex(dir.path, OPTIONS);
  assert.deepEqual([await found(one, 'extraordinary'), await found(other, 'extraordinary')], [['a'], []]);
  await other.apply([entry('b', 'extraordinary')], 2);
  assert.deepEqual(await found(one, 'extraordinary'), ['a']);
});

test('of several that are opened at the same moment each has a file, and keeps it', async () => {
  await using dir = await tempDir();
  const [rounds, threads] = [10, 4];
  const arrived = new Int32Array(new SharedArrayBuffer(4 * 2 * rounds));
  const failed = Array.from({ length: threads }, async (_, at) => {
    const workerData: AtOnce = { dir: dir.path, rounds, threads, arrived, name: `e${at}` };
    const [said] = await once(new Worker(new URL('./open-at-once.fixture.ts', import.meta.url), { workerData }), 'message');
    return said as string[];
  });
  assert.deepEqual((await Promise.all(failed)).flat(), []);
});

test('what is taken out leaves nothing of its text in the file', async () => {
  await using dir = await tempDir();
  {
    await using index = openSearchIndex(dir.path, OPTIONS);
    await index.apply([entry('a', 'the wordtobeforgotten is here'), entry('b', 'something that stays')], 1);
    await index.apply([{ tenant: 't', id: 'a', version: 2, gone: true }], 2);
  }
  const bytes = readFileSync(join(dir.path, '1', 'index.db'));
  assert.deepEqual([bytes.includes('wordtobeforgotten'), bytes.includes('something that stays')], [false, true]);
});

test('written in another order, with other things between, it gives the same answers', async () => {
  await using dir = await tempDir();
  const words = ['tide', 'harbour', 'crane', 'ship', 'rope', 'mast', 'sail', 'wind'];
  const entries = Array.from({ length: 60 }, (_, n) =>
    entry(`e${n}`, [0, 1, 2].map((k) => words[(n * (k + 1) + k) % words.length]).join(' '), { createdAt: n % 7, version: 5 }),
  );
  await using straight = openSearchIndex(dir.path, OPTIONS);
  await straight.apply(entries, 1);
  await using crooked = openSearchIndex(dir.path, OPTIONS);
  await crooked.apply(
    entries.toReversed().map((one) => ({ ...one, text: 'something else', version: 1 })),
    1,
  );
  await crooked.apply([entry('gone', 'tide tide tide')], 1);
  for (const one of entries) await crooked.apply([one], 2);
  await crooked.apply([{ tenant: 't', id: 'gone', version: 2, gone: true }], 3);
  const asked = { tenant: 't', group: 'g', limit: 20, now: 0, vectors: true };
  for (const text of [...words, 'tide ship', 'rope masts sailing', 'nothing']) {
    assert.deepEqual(await crooked.search({ ...asked, text }), await straight.search({ ...asked, text }), text);
  }
  const scope = { tenant: 't', now: 0 };
  assert.deepEqual(await crooked.stats(scope), await straight.stats(scope));
  const page = { ...scope, oldestFirst: true, offset: 3, limit: 20 };
  assert.deepEqual(await crooked.list(page), await straight.list(page));
});

test('vectors of questions are remembered, as many as it is told', async () => {
  await using dir = await tempDir();
  await using index = openSearchIndex(dir.path, OPTIONS);
  for (const text of ['one', 'one', 'two', 'three', 'one']) await found(index, text);
  assert.deepEqual(await index.cacheStats(), { size: 2, hits: 1, misses: 4, evictions: 2 });
});

test('begun anew by its owner, it knows nothing', async () => {
  await using dir = await tempDir();
  await using index = openSearchIndex(dir.path, OPTIONS);
  await index.apply([entry('a', 'tide')], 5);
  assert.deepEqual(await found(index, 'tide'), ['a']);
  await index.clear();
  assert.deepEqual([await index.followedTo(), await found(index, 'tide')], [null, []]);
});

test('asked after its end it is UNAVAILABLE', async () => {
  await using dir = await tempDir();
  const index = openSearchIndex(dir.path, OPTIONS);
  await index[Symbol.asyncDispose]();
  assert.equal(index.alive, false);
  await assert.rejects(index.followedTo(), { code: 'UNAVAILABLE' });
});

test('where it cannot be written, whoever asks is told', async () => {
  await using dir = await tempDir();
  writeFileSync(join(dir.path, 'file'), '');
  await using index = openSearchIndex(join(dir.path, 'file'), OPTIONS);
  await assert.rejects(index.followedTo(), { code: 'UNAVAILABLE' });
});
