import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { applyMergePatch, createMergePatch, findConflicts, findRemovedEntries, getAt, isEqual, wrapAt } from './merge-patch.ts';

test('a patch contains the differences alone, so that redacted secrets are not written', () => {
  const before = { port: 1, key: '[REDACTED]', web: { enabled: true, path: 'a' } };
  assert.deepEqual(createMergePatch(before, { port: 2, key: '[REDACTED]', web: { enabled: true } }), { port: 2, web: { path: null } });
  assert.equal(createMergePatch(before, structuredClone(before)), undefined);
});

test('a patch that is applied to the first value gives the second', () => {
  const leaf = fc.oneof(fc.integer(), fc.string(), fc.boolean(), fc.array(fc.integer(), { maxLength: 3 }));
  const { tree } = fc.letrec((tie) => ({
    tree: fc.dictionary(fc.constantFrom('a', 'b', 'c', 'constructor'), fc.oneof({ depthSize: 'small' }, leaf, tie('tree')), { maxKeys: 4 }),
  }));
  fc.assert(
    fc.property(tree, tree, (before, after) => {
      assert.ok(isEqual(applyMergePatch(before, createMergePatch(before, after)), after));
    }),
  );
});

test('finds the paths that two changes set to different values', () => {
  const mine = { port: 2, web: { path: 'mine', enabled: true } };
  assert.deepEqual(findConflicts(mine, { port: 2, web: { path: 'theirs' }, other: 1 }), ['web.path']);
  assert.deepEqual(findConflicts(mine, { web: null }), ['web']);
  assert.deepEqual(findConflicts(undefined, mine), []);
});

test('finds lists that lost an entry with an id', () => {
  const before = { hooks: [{ id: 'a' }, { id: 'b' }], numbers: [1, 2] };
  assert.deepEqual(findRemovedEntries(before, { hooks: [{ id: 'b' }, { id: 'c' }], numbers: [1] }), ['hooks']);
  assert.deepEqual(findRemovedEntries(before, { hooks: [{ id: 'b' }, { id: 'a' }], numbers: [] }), []);
});

test('reads and wraps a value at a path, and follows no inherited name', () => {
  assert.deepEqual(wrapAt(['agents', 'default'], { name: 'a' }), { agents: { default: { name: 'a' } } });
  assert.equal(getAt({ agents: { default: { name: 'a' } } }, ['agents', 'default', 'name']), 'a');
  assert.equal(getAt({}, ['constructor']), undefined);
});
