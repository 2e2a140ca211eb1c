import assert from 'node:assert/strict';
import { test } from 'node:test';
import { coalesce } from './coalesce.ts';

test('calls during a run share one further run, which starts after them', async () => {
  const gates: PromiseWithResolvers<void>[] = [];
  const work = coalesce(() => {
    const gate = Promise.withResolvers<void>();
    gates.push(gate);
    return gate.promise;
  });
  const first = work();
  const later = [work(), work(), work()];
  assert.equal(gates.length, 1);
  gates[0]?.resolve();
  await first;
  await Promise.resolve();
  assert.equal(gates.length, 2);
  gates[1]?.resolve();
  await Promise.all(later);
  assert.equal(gates.length, 2);
});

test('a call during the further run gets a run of its own', async () => {
  let runs = 0;
  const work = coalesce(async () => void runs++);
  const first = work();
  const second = work();
  await first;
  await second;
  await work();
  assert.equal(runs, 3);
  await Promise.all([work(), work()]);
  assert.equal(runs, 5);
});

test('a failed run rejects only its own callers', async () => {
  let runs = 0;
  const work = coalesce(() => (runs++ === 0 ? Promise.reject(new Error('once')) : Promise.resolve()));
  const [first, second] = await Promise.allSettled([work(), work()]);
  assert.deepEqual([first.status, second.status, runs], ['rejected', 'fulfilled', 2]);
});
