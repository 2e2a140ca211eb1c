import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TurnFrame } from '@switchyard/contracts';
import { createFrameOrder } from './frame-order.ts';

const frame = (n: number): TurnFrame => ({ n, type: 'alive' });

test('frames are taken in order, each once, and those ahead wait', () => {
  const order = createFrameOrder();
  for (const n of [1, 0, 3, 1]) order.add(frame(n));
  assert.deepEqual(order.take(), [frame(0), frame(1)]);
  assert.deepEqual([order.next, order.waiting], [2, 1]);
  for (const n of [0, 1, 3]) order.add(frame(n));
  assert.deepEqual(order.take(), []);
  assert.deepEqual([order.next, order.waiting], [2, 1]);
  order.add(frame(2));
  assert.deepEqual(order.take(), [frame(2), frame(3)]);
  assert.deepEqual([order.next, order.waiting], [4, 0]);
});

const under = (fence: number, n: number): TurnFrame => ({ n, fence, type: 'alive' });
const resumed = (fence: number, n: number): TurnFrame => ({ n, fence, type: 'resumed', text: 'so far' });

test('a further run begins where it says, and what the run before says then is dropped', () => {
  const order = createFrameOrder();
  for (const one of [frame(0), under(7, 1), under(7, 3), resumed(9, 100), under(7, 2), under(9, 101), under(7, 101), resumed(7, 50)])
    order.add(one);
  assert.deepEqual(order.take(), [resumed(9, 100), under(9, 101)]);
  assert.deepEqual([order.next, order.waiting], [102, 0]);
});

test('what comes before a further run has begun waits for it', () => {
  const order = createFrameOrder();
  for (const one of [frame(0), under(9, 101)]) order.add(one);
  assert.deepEqual(order.take(), [frame(0)]);
  order.add(resumed(9, 100));
  assert.deepEqual(order.take(), [resumed(9, 100), under(9, 101)]);
});

test('where frames are lost, it goes on from what was kept, if that reaches as far', () => {
  const order = createFrameOrder();
  for (const one of [frame(0), under(7, 5), under(7, 6)]) order.add(one);
  order.take();
  assert.equal(order.jump({ text: 'too early', frame: 4, fence: 7 }), false);
  assert.equal(order.jump({ text: 'so far', frame: 6, fence: 7 }), true);
  assert.deepEqual(order.take(), [resumed(7, 5), under(7, 6)]);
});
