import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createKeyedMutex } from './keyed-mutex.ts';

test('runs tasks with one key sequentially, also after a failure, and tasks with other keys in parallel', async () => {
  const inTurn = createKeyedMutex();
  const gate = Promise.withResolvers<void>();
  const seen: string[] = [];
  const first = inTurn('a', () => gate.promise);
  const second = inTurn('a', async () => void seen.push('second'));
  await inTurn('b', async () => void seen.push('other key'));
  assert.deepEqual(seen, ['other key']);
  gate.reject(new Error('the first failed'));
  await assert.rejects(first, /the first failed/);
  await second;
  assert.deepEqual(seen, ['other key', 'second']);
  assert.equal(await inTurn('a', async () => 'third'), 'third');
});
