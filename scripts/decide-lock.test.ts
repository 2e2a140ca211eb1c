import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContractsLock } from '@switchyard/contracts';
import { decideLock } from './decide-lock.ts';

const lock = (...names: string[]): ContractsLock => ({
  methods: Object.fromEntries(names.map((name) => [name, { service: 'sessions', scope: 'rpc' }])),
  operations: {},
  events: {},
});
const day = '2026-11-22';

test('a lock that is the contracts is left alone', () => {
  assert.deepEqual(decideLock(lock('a.b'), lock('a.b'), { write: true, why: '', day }), { write: false });
});

test('what only adds is taken in, on request', () => {
  assert.deepEqual(decideLock(lock('a.b'), lock('a.b', 'a.c'), { write: true, why: '', day }), { write: true });
  assert.match(decideLock(lock('a.b'), lock('a.b', 'a.c'), { write: false, why: '', day }).refuse ?? '', /have grown/);
});

test('what breaks a promise is refused without a reason, and by a check always', () => {
  for (const asked of [
    { write: true, why: ' \n', day },
    { write: false, why: 'nobody calls it', day },
  ]) {
    const { write, record, refuse } = decideLock(lock('a.b', 'a.c'), lock('a.b'), asked);
    assert.deepEqual({ write, record }, { write: false, record: undefined });
    assert.match(refuse ?? '', /a\.c is gone\n.*make lock NARROW="why"/);
  }
});

test('a reason is kept, with the day and every promise that it takes back', () => {
  const { write, record, refuse } = decideLock(lock('a.b', 'a.c', 'a.d'), lock('a.b'), { write: true, why: ' nobody\ncalls them ', day });
  assert.deepEqual({ write, refuse }, { write: true, refuse: undefined });
  assert.equal(record, '2026-11-22 nobody calls them\n  a.c is gone\n  a.d is gone\n\n');
});
