import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFairLimiter } from './fair-limiter.ts';

const { signal } = new AbortController();

test('runs at most so many tasks, and tenants take turns', async () => {
  const limiter = createFairLimiter(() => 1);
  const order: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = limiter.run('a', signal, () => gate.promise);
  const add = (tenant: string, name: string): Promise<void> => limiter.run(tenant, signal, async () => void order.push(name));
  const rest = [add('a', 'a1'), add('a', 'a2'), add('a', 'a3'), add('b', 'b1')];
  await Promise.resolve();
  assert.deepEqual(order, []);
  gate.resolve();
  await Promise.all([first, ...rest]);
  assert.deepEqual(order, ['a1', 'b1', 'a2', 'a3']);
});

test('a caller that leaves the line gives its place to the next', async () => {
  const limiter = createFairLimiter(() => 1);
  const gate = Promise.withResolvers<void>();
  const first = limiter.run('a', signal, () => gate.promise);
  const controller = new AbortController();
  const left = limiter.run('a', controller.signal, async () => assert.fail('it left'));
  const next = limiter.run('a', signal, async () => 'next');
  controller.abort(new Error('gone'));
  await assert.rejects(left, /gone/);
  gate.resolve();
  await first;
  assert.equal(await next, 'next');
});

test('a failed task frees its place', async () => {
  const limiter = createFairLimiter(() => 1);
  await assert.rejects(
    limiter.run('a', signal, async () => {
      throw new Error('broken');
    }),
    /broken/,
  );
  assert.equal(await limiter.run('a', signal, async () => 'next'), 'next');
});
