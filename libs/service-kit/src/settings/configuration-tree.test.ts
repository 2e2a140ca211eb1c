import assert from 'node:assert/strict';
import { test } from 'node:test';
import { merge, only, type Tree } from './configuration-tree.ts';

test('merge merges objects at every depth, replaces lists and values, and ignores undefined', () => {
  const lower = { a: { b: 1, c: [1, 2] }, d: 1 };
  assert.deepEqual(merge(lower, { a: { c: [3], e: undefined }, d: { f: 1 } }), { a: { b: 1, c: [3] }, d: { f: 1 } });
  assert.deepEqual(lower, { a: { b: 1, c: [1, 2] }, d: 1 }, 'neither side is changed');
});

test('merge does not change any prototype', () => {
  const evil = { admin: true };
  const hostile = JSON.parse(
    '{"__proto__": {"admin": true}, "constructor": {"prototype": {"admin": true}}, "deep": {"__proto__": {"admin": true}}}',
  ) as Tree;
  for (const lower of [{}, { deep: {}, constructor: {} }, { deep: 1 }]) {
    const merged = merge(lower, hostile);
    for (const tree of [merged, merged['deep'] as Tree, {} as Tree, Object as unknown as Tree]) assert.equal(tree['admin'], undefined);
    assert.deepEqual([merged['constructor'], merged['deep']], [{ prototype: evil }, {}], 'constructor is a key as any other');
  }
});

test('only keeps only the given paths', () => {
  const tree = { a: { b: 1, c: 2 }, d: 3 };
  assert.deepEqual(only(tree, [['a', 'c'], ['d']]), { a: { c: 2 }, d: 3 });
  assert.deepEqual(only(tree, [['a', 'x', 'y']]), { a: { x: {} } });
  assert.deepEqual(only(tree, []), {});
});
