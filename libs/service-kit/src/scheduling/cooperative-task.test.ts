import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inSteps } from './cooperative-task.ts';

test('inSteps yields to the event loop between steps and returns the result', async () => {
  const order: string[] = [];
  function* steps(): Generator<undefined, string> {
    for (const step of ['one', 'two', 'three']) {
      order.push(step);
      setImmediate(() => order.push(`somebody after ${step}`));
      yield;
    }
    return 'done';
  }
  assert.equal(await inSteps(steps()), 'done');
  assert.deepEqual(order, ['one', 'somebody after one', 'two', 'somebody after two', 'three', 'somebody after three']);
});

test('inSteps rethrows the error of a step', async () => {
  // eslint-disable-next-line require-yield
  function* steps(): Generator<undefined, string> {
    throw new RangeError('no');
  }
  await assert.rejects(inSteps(steps()), RangeError);
});
