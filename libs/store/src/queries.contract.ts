import assert from 'node:assert/strict';
import { test } from 'node:test';
import { a, code, newItem, type Fresh, type Item } from './fixture.contract.ts';
import type { Documents, Filter, FindOptions } from './store.ts';

/** Filters, orders and pages. */
export function queriesContract(fresh: Fresh): void {
  test('filters: equality, null and missing, ranges, membership, difference, presence', async (t) => {
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
      [{ note: { exists: true } }, '124'],
      [{ note: { exists: false } }, '3'],
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

  test('sorting puts missing first, and the key decides between equals', async (t) => {
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

  test('pages neither repeat nor skip while documents are put in', async (t) => {
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

  test('a hundred at most unless said', async (t) => {
    const mine = (await fresh(t)).for(a);
    await Promise.all(Array.from({ length: 101 }, (_, i) => mine.insert(newItem(`k${i}`))));
    const page = await mine.find({});
    assert.equal(page.items.length, 100);
    assert.ok(page.cursor);
  });

  test('a cursor that is not one, or belongs to another order, is INVALID_ARGUMENT', async (t) => {
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
  const found: Item[] = [];
  let next: FindOptions<Item> | undefined = options;
  while (next) {
    const page = await mine.find({}, next);
    found.push(...page.items);
    next = page.cursor === undefined ? undefined : { ...options, cursor: page.cursor };
  }
  return found;
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
