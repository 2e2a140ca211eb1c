import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContractsLock } from '@switchyard/contracts';
import { decideLock } from './decide-lock.ts';

const lock = (...names: string[]): ContractsLock => ({
  methods: Object.fromEntries(names.map((name) => [name, { service: 'sessions', scope: 'rpc' }])),
  operations: {},
  events: {},
});

test('decideLock keeps a snapshot that equals the contracts', () => {
  assert.deepEqual(decideLock(lock('a.b'), lock('a.b'), { write: true, changelogExtended: true }), { write: false });
});

test('decideLock writes additions without a changelog entry', () => {
  assert.deepEqual(decideLock(lock('a.b'), lock('a.b', 'a.c'), { write: true, changelogExtended: false }), { write: true });
  const { refusal } = decideLock(lock('a.b'), lock('a.b', 'a.c'), { write: false, changelogExtended: false });
  assert.match(refusal ?? '', /new entries/);
});

test('decideLock refuses a breaking change without a changelog entry, and always during a check', () => {
  for (const options of [
    { write: true, changelogExtended: false },
    { write: false, changelogExtended: true },
  ]) {
    const { write, refusal } = decideLock(lock('a.b', 'a.c'), lock('a.b'), options);
    assert.equal(write, false);
    assert.match(refusal ?? '', /a\.c is gone\n.*CHANGELOG\.md/);
  }
});

test('decideLock writes a breaking change with a changelog entry', () => {
  assert.deepEqual(decideLock(lock('a.b', 'a.c', 'a.d'), lock('a.b'), { write: true, changelogExtended: true }), { write: true });
});
