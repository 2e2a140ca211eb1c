import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareDraft, continueDraft, formatJson, isUnchanged, parseDraft, rebaseDraft, type Draft } from './draft.ts';

const draft = (value: unknown): Draft => ({ text: formatJson(value), baseSha: 'a', baseValue: { port: 1, host: 'x' } });

test('a draft on the newest version is current, whatever it contains', () => {
  assert.deepEqual(compareDraft(draft({ port: 2 }), 'a', { port: 1, host: 'x' }), { kind: 'current' });
});

test('a draft whose value did not change elsewhere can be applied to the newer version', () => {
  assert.deepEqual(compareDraft(draft({ port: 2, host: 'x' }), 'b', { port: 1, host: 'x' }), { kind: 'moved' });
});

test('a concurrent change names the keys that both changed', () => {
  const mine = draft({ port: 2, host: 'x' });
  assert.deepEqual(compareDraft(mine, 'b', { port: 3, host: 'x' }), { kind: 'concurrent', conflicts: ['port'] });
  assert.deepEqual(compareDraft(mine, 'b', { port: 1, host: 'y' }), { kind: 'concurrent', conflicts: [] });
});

test('a rebased draft contains both changes, and its own where both changed a key', () => {
  const rebased = rebaseDraft(draft({ port: 2, host: 'x' }), 'b', { port: 3, host: 'y' });
  assert.deepEqual(parseDraft(rebased), { value: { port: 2, host: 'y' } });
  assert.deepEqual([rebased.baseSha, rebased.baseValue], ['b', { port: 3, host: 'y' }]);
});

test('text typed while a save runs is kept on the saved version', () => {
  const saved = draft({ port: 2 });
  assert.equal(continueDraft(saved, saved, 'b'), undefined);
  const left = continueDraft({ ...saved, text: '{"port": 3' }, saved, 'b');
  assert.deepEqual(left, { text: '{"port": 3', baseSha: 'b', baseValue: { port: 2 } });
});

test('an invalid text is kept and explained, and never counts as unchanged', () => {
  const broken = { ...draft({}), text: '{' };
  assert.match((parseDraft(broken) as { failure: string }).failure, /^The text is no valid JSON/);
  assert.equal(isUnchanged(broken), false);
  assert.equal(rebaseDraft(broken, 'b', {}), broken);
  assert.equal(isUnchanged(draft({ host: 'x', port: 1 })), true);
});
