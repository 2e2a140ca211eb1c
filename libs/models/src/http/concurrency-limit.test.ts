import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { createConcurrencyLimit } from './concurrency-limit.ts';

const { signal } = new AbortController();
const full = (): ServiceError => new ServiceError('RESOURCE_EXHAUSTED', 'full');

test('admits waiting calls in order and rejects calls beyond maxWaiting', async () => {
  const gate = createConcurrencyLimit({ maxRunning: 1, maxWaiting: 2 }, full);
  const order: string[] = [];
  assert.equal(gate.acquire(signal), undefined);
  const waiting = ['first', 'second'].map(async (name) => {
    await gate.acquire(signal);
    order.push(name);
  });
  assert.throws(() => gate.acquire(signal), { code: 'RESOURCE_EXHAUSTED' });

  gate.release();
  gate.release();
  await Promise.all(waiting);

  assert.deepEqual(order, ['first', 'second']);
  gate.release();
  assert.equal(gate.empty, true);
});

test('removes an aborted call from the queue', async () => {
  const gate = createConcurrencyLimit({ maxRunning: 1, maxWaiting: 2 }, full);
  const leaving = new AbortController();
  assert.equal(gate.acquire(signal), undefined);
  const left = gate.acquire(leaving.signal);
  const stays = gate.acquire(signal);

  leaving.abort(new Error('left'));
  await assert.rejects(left ?? assert.fail('it waits'), /left/);
  gate.release();
  await stays;
  gate.release();

  assert.equal(gate.empty, true);
});
