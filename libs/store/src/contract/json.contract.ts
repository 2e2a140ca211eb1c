import assert from 'node:assert/strict';
import { test } from 'node:test';
import { a, newItem, type Fresh } from './fixture.contract.ts';

const HOSTILE: readonly [what: string, text: string][] = [
  ['NUL in names and text', String.raw`{"a\u0000b":"c\u0000d"}`],
  ['_bsontype', '{"_bsontype":"ObjectId","id":"x"}'],
  ['$ref', '{"$ref":"c","$id":"1","$db":"admin"}'],
  ['half a character', String.raw`{"\ud800":"\udc00"}`],
  ['dots and dollars', '{"$gt":"","$where":"1","a.b":{"c.d":[{"$set":1}]},"":0}'],
  ['prototypes', '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'],
  ['_id and tenant', '{"_id":1,"tenant":"b","id":2}'],
  ['numbers', '[0,-0.25,1e+21,9007199254740993,1e-7]'],
  ['text', '"{}"'],
  ['a boolean', 'false'],
  ['a list of lists', '[[[]],[null]]'],
  ['nesting that a database could not read', `${'['.repeat(2_000)}${']'.repeat(2_000)}`],
];

/** Tests of `json()` fields. */
export function jsonContract(fresh: Fresh): void {
  for (const [description, text] of HOSTILE) {
    test(`returns json() values unchanged: ${description}`, async (t) => {
      const mine = (await fresh(t)).for(a);
      const value: unknown = JSON.parse(text);
      const same = (kept: unknown) => assert.equal(JSON.stringify(kept), JSON.stringify(value));
      same((await mine.insert(newItem('1', { data: value, calls: [value] }))).data);
      same((await mine.get('1'))?.data);
      same((await mine.update({ id: '1' }, { push: { calls: value } }))?.calls?.[1]);
      same((await mine.update({ id: '1' }, { set: { data: [value], calls: [value] } }))?.calls?.[0]);
      const [found] = (await mine.find({ data: { exists: true } })).items;
      same((found?.data as unknown[] | undefined)?.[0]);
      same(found?.calls?.[0]);
      assert.equal(Reflect.get({}, 'polluted'), undefined);
    });
  }

  test('treats null in a json() field as absent', async (t) => {
    const mine = (await fresh(t)).for(a);
    assert.equal((await mine.insert(newItem('1', { data: null }))).data, null);
    assert.equal((await mine.get('1'))?.data, null);
    assert.equal(await mine.count({ data: null }), 1);
    assert.deepEqual((await mine.update({ id: '1' }, { push: { calls: null } }))?.calls, [null]);
    assert.deepEqual((await mine.get('1'))?.calls, [null]);
  });

  test('copies json() values on write and on read', async (t) => {
    const mine = (await fresh(t)).for(a);
    const data = { list: [1] };
    const inserted = await mine.insert(newItem('1', { data }));
    data.list.push(2);
    (inserted.data as typeof data).list.push(3);
    assert.deepEqual((await mine.get('1'))?.data, { list: [1] });
  });

  test('stores a lone surrogate as U+FFFD and finds it by either', async (t) => {
    const mine = (await fresh(t)).for(a);
    const kept = newItem('k\ufffd', { title: 'x\ufffdy', tags: ['\ufffd'] });
    assert.deepEqual(await mine.insert(newItem('k\ud800', { title: 'x\udc00y', tags: ['\ud800'] })), kept);
    assert.deepEqual(await mine.get('k\ud800'), kept);
    assert.deepEqual(await mine.get(kept.id), kept);
    assert.equal(await mine.count({ title: 'x\udc00y' }), 1);
    assert.equal(await mine.count({ title: { in: ['x\udc00y'] } }), 1);
    assert.equal(await mine.count({ tags: { has: '\ud800' } }), 1);
    assert.equal((await mine.update({ id: kept.id }, { set: { title: '\ud83d' }, push: { tags: '\ud800' } }))?.title, '\ufffd');
    assert.deepEqual((await mine.update({ id: kept.id }, { pull: { tags: '\ud800' } }))?.tags, []);
  });
}
