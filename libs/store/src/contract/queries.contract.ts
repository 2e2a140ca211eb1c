import assert from 'node:assert/strict';
import { test } from 'node:test';
import { a, code, newItem, type Fresh, type Item } from './fixture.contract.ts';
import type { Documents, Filter, FindOptions } from '../port/store.ts';

/** Filters, orders and pages. */
export function queriesContract(fresh: Fresh): void {
  test('filters by equality, null, range, membership, inequality and presence', async (t) => {
    const mine = (await fresh(t)).for(a);
    await Promise.all([
      mine.insert(newItem('1', { n: 1, title: 'a', flag: true, note: 'x' })),
      mine.insert(newItem('2', { n: 2, title: 'b', flag: false, note: null })),
      mine.insert(newItem('3', { n: 3, title: 'c' })),
      mine.insert(newItem('4', { n: 10, title: 'É', note: 'y' })),
    ]);
    const cases: [Filter<Item>, string][] = [
      [{}, '1234'],
      [{ id: '2' }, '2'],
      [{ n: 2 }, '2'],
      [{ flag: true }, '1'],
      [{ flag: false }, '2'],
      [{ flag: { in: [true, false] } }, '12'],
      [{ note: null }, '23'],
      [{ note: { ne: null } }, '14'],
      [{ note: { ne: 'x' } }, '234'],
      [{ note: { exists: true } }, '14'],
      [{ note: { exists: false } }, '23'],
      [{ note: { exists: true, ne: null } }, '14'],
      [{ n: { gt: 1, lte: 3 } }, '23'],
      [{ n: { gte: 3 } }, '34'],
      [{ n: { lt: 10 } }, '123'],
      [{ title: { gt: 'b' } }, '34'],
      [{ note: { lt: 'z' } }, '14'],
      [{ title: { in: ['a', 'c', 'nope'] } }, '13'],
      [{ title: { in: [] } }, ''],
      [{ title: 'a', n: 1, flag: true }, '1'],
      [{ title: 'a', n: 2 }, ''],
      [{ title: 'É' }, '4'],
    ];
    for (const [filter, expected] of cases) {
      const found = (await mine.find(filter)).items.map(({ id }) => id).join('');
      assert.equal(found, expected, JSON.stringify(filter));
      assert.equal(await mine.count(filter), expected.length, JSON.stringify(filter));
    }
  });

  test('compares only values of the same type; booleans are not numbers', async (t) => {
    const mine = (await fresh(t)).for(a);
    const values = [0, 1, 5, '', '1', '5', 'true', true, false];
    await Promise.all(values.map((mixed, i) => mine.insert(newItem(`${i}`, { mixed, n: i % 2 }))));
    await mine.insert(newItem('9'));
    const cases: [Filter<Item>, string][] = [
      [{ mixed: 1 }, '1'],
      [{ mixed: 0 }, '0'],
      [{ mixed: '1' }, '4'],
      [{ mixed: true }, '7'],
      [{ mixed: false }, '8'],
      [{ mixed: { lt: 1 } }, '0'],
      [{ mixed: { lte: 1 } }, '01'],
      [{ mixed: { gt: 0 } }, '12'],
      [{ mixed: { gte: 0 } }, '012'],
      [{ mixed: { gt: '' } }, '456'],
      [{ mixed: { gte: '' } }, '3456'],
      [{ mixed: { lt: '5' } }, '34'],
      [{ mixed: { lt: true } }, '8'],
      [{ mixed: { gte: false } }, '78'],
      [{ mixed: { in: [1, '5', false] } }, '158'],
      [{ mixed: { in: [true] } }, '7'],
      [{ mixed: { in: [0, null] } }, '09'],
      [{ mixed: { ne: 1 } }, '023456789'],
      [{ mixed: { ne: true } }, '012345689'],
      [{ mixed: { ne: null } }, '012345678'],
      [mismatched({ id: 1 }), ''],
      [mismatched({ id: { in: [1, '2'] } }), '2'],
      [mismatched({ id: { gte: 0 } }), ''],
      [mismatched({ id: { ne: 1 } }), '0123456789'],
      [mismatched({ n: '1' }), ''],
      [mismatched({ n: true }), ''],
      [mismatched({ n: { lt: 'x' } }), ''],
      [mismatched({ title: { gt: 1 } }), ''],
      [mismatched({ title: { lt: true } }), ''],
    ];
    for (const [filter, expected] of cases) {
      const found = (await mine.find(filter)).items.map(({ id }) => id).join('');
      assert.equal(found, expected, JSON.stringify(filter));
    }
  });

  test('treats null and absent as equal in every query', async (t) => {
    const mine = (await fresh(t)).for(a);
    await mine.insert(newItem('1', { note: null }));
    await mine.insert(newItem('2'));
    for (const nothing of [null, { exists: false }, { in: [null] }]) assert.equal(await mine.count({ note: nothing }), 2);
    for (const something of [{ ne: null }, { exists: true }]) assert.equal(await mine.count({ note: something }), 0);
    for (const id of ['1', '2']) assert.ok(await mine.update({ id }, { set: { rank: 1 }, if: { note: null } }));
  });

  test('filters arrays by has and lacks and pulls entries', async (t) => {
    const mine = (await fresh(t)).for(a);
    await mine.insert(newItem('1', { tags: ['x', 'y', 'x'] }));
    await mine.insert(newItem('2', { tags: ['xy', '1'] }));
    await mine.insert(newItem('3', { tags: [] }));
    await mine.insert(newItem('4'));
    const cases: [Filter<Item>, string][] = [
      [{ tags: { has: 'x' } }, '1'],
      [{ tags: { lacks: 'x' } }, '234'],
      [{ tags: { has: 'x', lacks: 'z' } }, '1'],
      [{ tags: { has: '1' } }, '2'],
      [mismatched({ tags: { has: 1 } }), ''],
      [mismatched({ tags: { lacks: 1 } }), '1234'],
      [{ tags: { exists: true } }, '123'],
      [{ tags: null }, '4'],
    ];
    for (const [filter, expected] of cases) {
      assert.equal((await mine.find(filter)).items.map(({ id }) => id).join(''), expected, JSON.stringify(filter));
    }
    assert.deepEqual((await mine.update({ id: '1' }, { pull: { tags: 'x' } }))?.tags, ['y']);
    assert.deepEqual((await mine.update({ id: '1' }, { pull: { tags: 'y' } }))?.tags, []);
    assert.equal((await mine.update({ id: '4' }, { pull: { tags: 'y' } }))?.tags, undefined);
    const pulls = ['xy', '1', 'none'].map((tag) => mine.update({ tags: { has: tag } }, { pull: { tags: tag }, inc: { n: 1 } }));
    const [first, second, none] = (await Promise.all(pulls)).map((item) => item?.n ?? null);
    // The order of the two is undefined, because neither has the key.
    assert.deepEqual([new Set([first, second]), none], [new Set([1, 2]), null]);
    await mine.update({ id: '3' }, { push: { tags: 'again' }, if: { tags: { lacks: 'again' } } });
    assert.equal(await mine.update({ id: '3' }, { push: { tags: 'again' }, if: { tags: { lacks: 'again' } } }), null);
  });

  test('sorts missing values first and breaks ties by key', async (t) => {
    const mine = (await fresh(t)).for(a);
    await Promise.all([
      mine.insert(newItem('1', { n: 1, note: 'b' })),
      mine.insert(newItem('2', { n: 2 })),
      mine.insert(newItem('3', { n: 1, note: 'a' })),
      mine.insert(newItem('4', { n: 2, note: null })),
    ]);
    const ids = async (sort: FindOptions<Item>['sort']) => (await pages(mine, { sort: sort ?? [], limit: 1 })).map(({ id }) => id).join('');
    assert.equal(await ids([['id', 'desc']]), '4321');
    assert.equal(await ids([['note', 'asc']]), '2431');
    assert.equal(await ids([['note', 'desc']]), '1342');
    assert.equal(
      await ids([
        ['n', 'desc'],
        ['note', 'asc'],
      ]),
      '2431',
    );
    assert.equal(
      await ids([
        ['n', 'asc'],
        ['note', 'desc'],
      ]),
      '1342',
    );
  });

  test('pages neither repeat nor skip documents during inserts', async (t) => {
    const mine = (await fresh(t)).for(a);
    await Promise.all(Array.from({ length: 10 }, (_, i) => mine.insert(newItem(`k${i}`, { n: i % 3 }))));
    const sort = [['n', 'desc']] as const;
    const first = await mine.find({}, { sort, limit: 4 });
    assert.equal(first.items.length, 4);
    await mine.insert(newItem('before', { n: 99 }));
    await mine.insert(newItem('after', { n: -1 }));
    await mine.remove({ id: first.items[3]?.id ?? '' });
    const rest = await pages(mine, { sort, limit: 3, cursor: first.cursor ?? '' });
    const seen = [...first.items, ...rest].map(({ id }) => id);
    assert.deepEqual(seen.slice(-1), ['after']);
    assert.deepEqual(seen.toSorted(), ['after', ...Array.from({ length: 10 }, (_, i) => `k${i}`)]);
    const last = await mine.find({}, { sort, limit: 100 });
    assert.equal(last.cursor, undefined, 'a page with nothing after it has no cursor');
  });

  test('returns at most 100 documents by default', async (t) => {
    const mine = (await fresh(t)).for(a);
    await Promise.all(Array.from({ length: 101 }, (_, i) => mine.insert(newItem(`k${i}`))));
    const page = await mine.find({});
    assert.equal(page.items.length, 100);
    assert.ok(page.cursor);
  });

  test('rejects an invalid cursor and one of another order with INVALID_ARGUMENT', async (t) => {
    const mine = (await fresh(t)).for(a);
    await Promise.all([mine.insert(newItem('1')), mine.insert(newItem('2'))]);
    const { cursor = '' } = await mine.find({}, { limit: 1, sort: [['n', 'asc']] });
    for (const bad of [
      '',
      'x',
      '{}',
      encode({}),
      encode(null),
      encode(['n id']),
      encode(['n id', {}, '1']),
      encode(['n id', 0, ['1']]),
      cursor,
    ]) {
      await assert.rejects(mine.find({}, { cursor: bad, sort: [['n', 'desc']] }), code('INVALID_ARGUMENT'), bad);
    }
  });
}

async function pages(mine: Documents<Item>, options: FindOptions<Item>): Promise<Item[]> {
  const matches: Item[] = [];
  let next: FindOptions<Item> | undefined = options;
  while (next) {
    const page = await mine.find({}, next);
    matches.push(...page.items);
    next = page.cursor === undefined ? undefined : { ...options, cursor: page.cursor };
  }
  return matches;
}

/** Bypasses the types to pass an invalid value. */
function mismatched(filter: object): Filter<Item> {
  return filter;
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
