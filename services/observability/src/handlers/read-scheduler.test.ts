import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createReadScheduler } from './read-scheduler.ts';

test('starts a bounded number of reads in a turn of the event loop, in order', async () => {
  const started: number[] = [];
  const read = createReadScheduler(2)(async (n: number) => void started.push(n));
  const reads = Promise.all([1, 2, 3, 4, 5].map((n) => read(n)));
  assert.deepEqual(started, [1, 2]);
  await nextTurn();
  assert.deepEqual(started, [1, 2, 3, 4]);
  await reads;
  assert.deepEqual(started, [1, 2, 3, 4, 5]);
  await nextTurn();
  await read(6);
  assert.equal(started.at(-1), 6);
});

test('a read that throws ends alone', async () => {
  const read = createReadScheduler(1)(async (n: number) => (n === 2 ? Promise.reject(new Error('broken')) : n));
  const results = await Promise.allSettled([1, 2, 3].map((n) => read(n)));
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
});
