import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { tempDir } from '@switchyard/testkit';
import type { ConcurrentOpenOptions } from './concurrent-open.fixture.ts';
import { openSearchIndex } from './open-search-index.ts';
import type { SearchEntry, SearchIndex, SearchQuery } from './search-index.ts';

const OPTIONS = { identity: 'database-1', vectorModel: { name: 'two-dimensions', dimensions: 2 } };
/** The vector of every entry of a test that searches by vector. */
const VECTOR = new Int8Array([3, 4]);

function createEntry(id: string, text: string, more: Partial<SearchEntry> = {}): SearchEntry {
  const names = { tenant: 't', group: 'g', owner: '', kind: 'semantic', trust: 'learned', tags: [], session: '' };
  return { ...names, id, text, bytes: text.length, createdAt: 1, expiresAt: undefined, version: 1, ...more };
}

async function findIds(index: SearchIndex, text: string, more: Partial<SearchQuery> = {}): Promise<string[]> {
  const { hits } = await index.search({ tenant: 't', group: 'g', text, limit: 10, now: 1_000, ...more });
  return hits.map(({ id }) => id);
}

test('matches words in any form, case and order, and ignores query operators', async () => {
  await using dir = await tempDir();
  await using index = openSearchIndex(dir.path, OPTIONS);
  await index.apply([createEntry('a', 'The Café in Malmö opens at nine.'), createEntry('b', 'Running shoes')], 1);
  assert.deepEqual(await findIds(index, 'MALMO cafe'), ['a']);
  assert.deepEqual(await findIds(index, 'run'), ['b']);
  for (const query of ['"', 'a OR b', 'NEAR(', 'text : *', '', '   ', '💥', 'the of and', "'; DROP TABLE entries"]) {
    assert.deepEqual(await findIds(index, query), [], query);
  }
  assert.deepEqual(await findIds(index, 'part : opens) OR (text : nine'), ['a']);
});

test('searches one group of one tenant, whatever their names', async () => {
  await using dir = await tempDir();
  await using index = openSearchIndex(dir.path, OPTIONS);
  const groups = [
    ['t', 'g'],
    ['t', 'h'],
    ['u', 'g'],
    ['t g', ''],
    ['', 't g'],
  ] as const;
  await index.apply(
    groups.map(([tenant, group], n) => createEntry(`id-${n}`, 'secret plan', { tenant, group })),
    1,
  );
  for (const [n, [tenant, group]] of groups.entries()) assert.deepEqual(await findIds(index, 'secret', { tenant, group }), [`id-${n}`]);
});

test('filters by owner, trust and expiry in both rankings and in counts', async () => {
  await using dir = await tempDir();
  await using index = openSearchIndex(dir.path, OPTIONS);
  const text = 'harbour crane';
  await index.apply(
    [
      createEntry('shared', text, { vector: VECTOR }),
      createEntry('anns', text, { vector: VECTOR, owner: 'ann' }),
      createEntry('external', text, { vector: VECTOR, trust: 'external' }),
      createEntry('expired', text, { vector: VECTOR, expiresAt: 1_000 }),
      createEntry('lasting', text, { vector: VECTOR, expiresAt: 1_001 }),
    ],
    1,
  );
  for (const query of [{ text: 'harbour' }, { text: 'nothing', vector: VECTOR }]) {
    const find = (more: Partial<SearchQuery>) => findIds(index, query.text, { ...query, ...more });
    assert.deepEqual((await find({})).toSorted(), ['anns', 'external', 'lasting', 'shared']);
    assert.deepEqual((await find({ owners: ['', 'bob'] })).toSorted(), ['external', 'lasting', 'shared']);
    assert.deepEqual(await find({ trust: ['external'] }), ['external']);
    assert.deepEqual(await find({ owners: [] }), []);
  }
  const scope = { tenant: 't', group: 'g', owners: [''], now: 1_000 };
  assert.equal((await index.stats(scope)).entries, 3);
  assert.equal((await index.list({ ...scope, oldestFirst: false, offset: 0, limit: 10 })).total, 3);
  assert.deepEqual([await index.has(scope), await index.has({ ...scope, owners: ['bob'] })], [true, false]);
});

test('finds a matching entry behind any number of better matches that the filter excludes', async () => {
  await using dir = await tempDir();
  await using index = openSearchIndex(dir.path, OPTIONS);
  const others = Array.from({ length: 300 }, (_, n) => createEntry(`o${n}`, 'tide table', { owner: 'bob', vector: VECTOR }));
  await index.apply([...others, createEntry('mine', 'a tide table among many other words that make it rank lower', { vector: VECTOR })], 1);
  assert.deepEqual(await findIds(index, 'tide table', { owners: [''] }), ['mine']);
  assert.deepEqual(await findIds(index, 'tide table', { owners: [''], vector: VECTOR }), ['mine']);
});

test('applies newer versions of an entry and ignores older ones', async () => {
  await using dir = await tempDir();
  await using index = openSearchIndex(dir.path, OPTIONS);
  await index.apply([createEntry('a', 'old words')], 1);
  await index.apply([createEntry('a', 'new sentence', { version: 3 })], 2);
  await index.apply([createEntry('a', 'late words', { version: 2 })], 3);
  assert.deepEqual([await findIds(index, 'words'), await findIds(index, 'sentence')], [[], ['a']]);
  await index.apply([{ tenant: 't', id: 'a', version: 4, gone: true }], 4);
  await index.apply([createEntry('a', 'back again', { version: 3 })], 5);
  assert.deepEqual([await findIds(index, 'sentence'), await findIds(index, 'again')], [[], []]);
  assert.equal((await index.stats({ tenant: 't', now: 0 })).entries, 0);
});

test('an entry that is deleted in the millisecond of its creation stays deleted', async () => {
  await using dir = await tempDir();
  await using index = openSearchIndex(dir.path, OPTIONS);
  const entry = createEntry('a', 'short words', { version: 7 });
  await index.apply([entry], 1);
  await index.apply([{ tenant: 't', id: 'a', version: 7, gone: true }], 2);
  assert.deepEqual([await findIds(index, 'words'), (await index.stats({ tenant: 't', now: 0 })).entries], [[], 0]);
  await index.apply([entry], 3);
  assert.deepEqual(await findIds(index, 'words'), [], 'a late copy of the entry does not revive it');
});

test('keeps entries and the position after a restart', async () => {
  await using dir = await tempDir();
  {
    await using index = openSearchIndex(dir.path, OPTIONS);
    assert.equal(await index.getPosition(), null);
    await index.apply([createEntry('a', 'kept')], 77);
  }
  await using again = openSearchIndex(dir.path, OPTIONS);
  assert.equal(await again.getPosition(), 77);
  assert.deepEqual(await findIds(again, 'kept'), ['a']);
});

test('rebuilds an index of another source or version and a corrupt one', async () => {
  await using dir = await tempDir();
  const write = async (): Promise<void> => {
    await using index = openSearchIndex(dir.path, OPTIONS);
    await index.apply([createEntry('a', 'kept')], 77);
  };
  await write();
  {
    await using other = openSearchIndex(dir.path, { ...OPTIONS, identity: 'database-2' });
    assert.deepEqual([await other.getPosition(), await findIds(other, 'kept')], [null, []]);
  }
  await write();
  {
    using db = new DatabaseSync(join(dir.path, '1', 'index.db'));
    db.exec("UPDATE meta SET value = value - 1 WHERE name = 'schemaVersion'");
  }
  {
    await using later = openSearchIndex(dir.path, OPTIONS);
    assert.deepEqual([await later.getPosition(), await findIds(later, 'kept')], [null, []]);
  }
  await write();
  writeFileSync(join(dir.path, '1', 'index.db'), 'no database at all');
  await using anew = openSearchIndex(dir.path, OPTIONS);
  assert.equal(await anew.getPosition(), null);
});

test('rebuilds an index with missing full-text rows, except those of deleted entries', async () => {
  await using dir = await tempDir();
  const file = join(dir.path, '1', 'index.db');
  {
    await using index = openSearchIndex(dir.path, OPTIONS);
    await index.apply([createEntry('a', 'kept'), createEntry('b', 'taken out')], 77);
    await index.apply([{ tenant: 't', id: 'b', version: 2, gone: true }], 78);
  }
  {
    await using whole = openSearchIndex(dir.path, OPTIONS);
    assert.equal(await whole.getPosition(), 78);
  }
  {
    using db = new DatabaseSync(file);
    db.exec('DELETE FROM words');
  }
  await using anew = openSearchIndex(dir.path, OPTIONS);
  assert.equal(await anew.getPosition(), null);
});

test('fails when corruption is detected during use, and is empty when it is opened again', async () => {
  await using dir = await tempDir();
  {
    await using index = openSearchIndex(dir.path, OPTIONS);
    await index.apply([createEntry('a', 'kept')], 77);
  }
  {
    using db = new DatabaseSync(join(dir.path, '1', 'index.db'), { defensive: false });
    db.exec("UPDATE words_data SET block = x'ff' WHERE id > 10");
  }
  await using index = openSearchIndex(dir.path, OPTIONS);
  assert.equal(await index.getPosition(), 77);
  await assert.rejects(findIds(index, 'kept'), { code: 'UNAVAILABLE' });
  assert.equal(index.alive, false);
  await using anew = openSearchIndex(dir.path, OPTIONS);
  assert.equal(await anew.getPosition(), null);
});

test('gives each open index of a directory its own file', async () => {
  await using dir = await tempDir();
  await using one = openSearchIndex(dir.path, OPTIONS);
  await one.apply([createEntry('a', 'extraordinary')], 1);
  await using other = openSearchIndex(dir.path, OPTIONS);
  assert.deepEqual([await findIds(one, 'extraordinary'), await findIds(other, 'extraordinary')], [['a'], []]);
  await other.apply([createEntry('b', 'extraordinary')], 2);
  assert.deepEqual(await findIds(one, 'extraordinary'), ['a']);
});

test('gives each of several indexes that are opened concurrently its own file', async () => {
  await using dir = await tempDir();
  const [rounds, threads] = [10, 4];
  const arrived = new Int32Array(new SharedArrayBuffer(4 * 2 * rounds));
  const results = Array.from({ length: threads }, async (_, n) => {
    const workerData: ConcurrentOpenOptions = { dir: dir.path, rounds, threads, arrived, name: `e${n}` };
    const [failures] = await once(new Worker(new URL('./concurrent-open.fixture.ts', import.meta.url), { workerData }), 'message');
    return failures as string[];
  });
  assert.deepEqual((await Promise.all(results)).flat(), []);
});

test('erases the text of a deleted entry from the file', async () => {
  await using dir = await tempDir();
  {
    await using index = openSearchIndex(dir.path, OPTIONS);
    await index.apply([createEntry('a', 'the wordtobeforgotten is here'), createEntry('b', 'something that stays')], 1);
    await index.apply([{ tenant: 't', id: 'a', version: 2, gone: true }], 2);
  }
  const bytes = readFileSync(join(dir.path, '1', 'index.db'));
  assert.deepEqual([bytes.includes('wordtobeforgotten'), bytes.includes('something that stays')], [false, true]);
});

test('finds partial words only if the query allows it, behind entries with the word itself', async () => {
  await using dir = await tempDir();
  await using index = openSearchIndex(dir.path, OPTIONS);
  await index.apply(
    [createEntry('a', 'the harbour'), createEntry('b', 'a harbourmaster, and more words than that'), createEntry('c', 'readHarbour()')],
    1,
  );
  assert.deepEqual(await findIds(index, 'harbour'), ['a', 'c']);
  assert.deepEqual(await findIds(index, 'harbour', { partial: true }), ['a', 'c', 'b']);
  assert.deepEqual(await findIds(index, 'harbour', { partial: true, limit: 1 }), ['a']);
  assert.deepEqual([await findIds(index, 'dharb'), await findIds(index, 'dharb', { partial: true })], [[], ['c']]);
  assert.deepEqual(await findIds(index, 'harbuor'), ['a', 'c'], 'a misspelling');
  assert.deepEqual(await findIds(index, 'harbuor', { group: 'h' }), [], 'another group');
});

test('keeps a term as long as an entry contains it', async () => {
  await using dir = await tempDir();
  const readTerms = (): string[] => {
    using db = new DatabaseSync(join(dir.path, '1', 'index.db'));
    return db
      .prepare('SELECT term FROM terms ORDER BY term')
      .all()
      .map(({ term }) => String(term));
  };
  {
    await using index = openSearchIndex(dir.path, OPTIONS);
    await index.apply([createEntry('a', 'harbour lanterns'), createEntry('b', 'harbours lanterns'), createEntry('c', 'lantern')], 1);
    await index.apply([{ tenant: 't', id: 'a', version: 2, gone: true }], 2);
  }
  assert.deepEqual(readTerms(), ['harbours', 'lantern', 'lanterns']);
  {
    await using index = openSearchIndex(dir.path, OPTIONS);
    await index.apply([createEntry('b', 'changed', { version: 2 }), createEntry('a', 'again harbour', { version: 3 })], 3);
    assert.deepEqual(await findIds(index, 'harbuor'), ['a']);
  }
  assert.deepEqual(readTerms(), ['again', 'changed', 'harbour', 'lantern']);
});

test('returns the same results whatever the order of writes', async () => {
  await using dir = await tempDir();
  const words = ['tide', 'harbour', 'crane', 'ship', 'rope', 'mast', 'sail', 'wind'];
  const entries = Array.from({ length: 60 }, (_, n) =>
    createEntry(`e${n}`, [0, 1, 2].map((k) => words[(n * (k + 1) + k) % words.length]).join(' '), {
      createdAt: n % 7,
      version: 5,
      vector: new Int8Array([n % 5, n % 3]),
    }),
  );
  await using ordered = openSearchIndex(dir.path, OPTIONS);
  await ordered.apply(entries, 1);
  await using shuffled = openSearchIndex(dir.path, OPTIONS);
  await shuffled.apply(
    entries.toReversed().map((one) => ({ ...one, text: 'something else', version: 1 })),
    1,
  );
  await shuffled.apply([createEntry('gone', 'tide tide tide')], 1);
  for (const one of entries) await shuffled.apply([one], 2);
  await shuffled.apply([{ tenant: 't', id: 'gone', version: 2, gone: true }], 3);
  const options = { tenant: 't', group: 'g', limit: 20, now: 0, vector: VECTOR };
  for (const text of [...words, 'tide ship', 'rope masts sailing', 'nothing']) {
    assert.deepEqual(await shuffled.search({ ...options, text }), await ordered.search({ ...options, text }), text);
  }
  const scope = { tenant: 't', now: 0 };
  assert.deepEqual(await shuffled.stats(scope), await ordered.stats(scope));
  const page = { ...scope, oldestFirst: true, offset: 3, limit: 20 };
  assert.deepEqual(await shuffled.list(page), await ordered.list(page));
});

test('clear deletes all entries and the position', async () => {
  await using dir = await tempDir();
  await using index = openSearchIndex(dir.path, OPTIONS);
  await index.apply([createEntry('a', 'tide')], 5);
  assert.deepEqual(await findIds(index, 'tide'), ['a']);
  await index.clear();
  assert.deepEqual([await index.getPosition(), await findIds(index, 'tide')], [null, []]);
});

test('fails UNAVAILABLE after it is closed', async () => {
  await using dir = await tempDir();
  const index = openSearchIndex(dir.path, OPTIONS);
  await index[Symbol.asyncDispose]();
  assert.equal(index.alive, false);
  await assert.rejects(index.getPosition(), { code: 'UNAVAILABLE' });
});

test('fails UNAVAILABLE when the directory is not writable', async () => {
  await using dir = await tempDir();
  writeFileSync(join(dir.path, 'file'), '');
  await using index = openSearchIndex(join(dir.path, 'file'), OPTIONS);
  await assert.rejects(index.getPosition(), { code: 'UNAVAILABLE' });
});

test('findSimilar compares words without vectors, within one owner and group, most similar first', async () => {
  await using dir = await tempDir();
  await using index = openSearchIndex(dir.path, { identity: 'database-1' });
  await index.apply(
    [
      createEntry('a', 'The printer on the second floor is out of toner.'),
      createEntry('b', 'the PRINTER on the second floor: out of toner!'),
      createEntry('c', 'Remember: the printer on the second floor is out of toner.'),
      createEntry('other', 'The printer on the first floor is broken.'),
      createEntry('anns', 'The printer on the second floor is out of toner.', { owner: 'ann' }),
      createEntry('elsewhere', 'The printer on the second floor is out of toner.', { group: 'h' }),
    ],
    1,
  );
  const query = { tenant: 't', group: 'g', id: 'a', now: 1_000, trust: undefined, limit: 10 };
  assert.deepEqual(await index.findSimilar({ ...query, minCosine: 0.85 }), ['a', 'b', 'c']);
  assert.deepEqual(await index.findSimilar({ ...query, minCosine: 1 }), ['a', 'b']);
  assert.deepEqual(await index.findSimilar({ ...query, minCosine: 0.85, limit: 1 }), ['a']);
  assert.deepEqual(await index.findSimilar({ ...query, minCosine: 0, trust: ['external'] }), []);
  assert.deepEqual(await index.findSimilar({ ...query, minCosine: 0, id: 'unknown' }), []);
});

test('findSimilar compares vectors where the entry has one', async () => {
  await using dir = await tempDir();
  await using index = openSearchIndex(dir.path, OPTIONS);
  const vectors = { a: [100, 0], b: [100, 20], c: [0, 100] };
  await index.apply(
    Object.entries(vectors).map(([id, vector]) => createEntry(id, `text ${id}`, { vector: new Int8Array(vector) })),
    1,
  );
  assert.deepEqual(await index.findSimilar({ tenant: 't', group: 'g', id: 'a', now: 0, trust: undefined, minCosine: 0.9, limit: 10 }), [
    'a',
    'b',
  ]);
});
