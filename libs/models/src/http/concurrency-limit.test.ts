import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { createGate } from './concurrency-limit.ts';

const { signal } = new AbortController();
const full = (): ServiceError => new ServiceError('RESOURCE_EXHAUSTED', 'full');

test('who waits gets in before whoever comes later, and beyond the bound nobody waits', async () => {
  const gate = createGate({ inside: 1, waiting: 2 }, full);
  const order: string[] = [];
  assert.equal(gate.enter(signal), undefined);
  const waiting = ['first', 'second'].map(async (name) => {
    await gate.enter(signal);
    order.push(name);
  });
  assert.throws(() => gate.enter(signal), { code: 'RESOURCE_EXHAUSTED' });

  gate.leave();
  gate.leave();
  await Promise.all(waiting);

  assert.deepEqual(order, ['first', 'second']);
  gate.leave();
  assert.equal(gate.empty, true);
});

test('who is called back while waiting takes nobody’s place', async () => {
  const gate = createGate({ inside: 1, waiting: 2 }, full);
  const leaving = new AbortController();
  assert.equal(gate.enter(signal), undefined);
  const left = gate.enter(leaving.signal);
  const stays = gate.enter(signal);

  leaving.abort(new Error('left'));
  await assert.rejects(left ?? assert.fail('it waits'), /left/);
  gate.leave();
  await stays;
  gate.leave();

  assert.equal(gate.empty, true);
});
