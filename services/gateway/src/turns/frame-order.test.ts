import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TurnFrame } from '@switchyard/contracts';
import { createFrameOrder } from './frame-order.ts';

const frame = (n: number): TurnFrame => ({ n, type: 'alive' });

test('returns frames in order, once, and holds frames that arrive early', () => {
  const order = createFrameOrder();
  for (const n of [1, 0, 3, 1]) order.add(frame(n));
  assert.deepEqual(order.take(), [frame(0), frame(1)]);
  assert.deepEqual([order.next, order.bufferedCount], [2, 1]);
  for (const n of [0, 1, 3]) order.add(frame(n));
  assert.deepEqual(order.take(), []);
  assert.deepEqual([order.next, order.bufferedCount], [2, 1]);
  order.add(frame(2));
  assert.deepEqual(order.take(), [frame(2), frame(3)]);
  assert.deepEqual([order.next, order.bufferedCount], [4, 0]);
});

const withFence = (fence: number, n: number): TurnFrame => ({ n, fence, type: 'alive' });
const resumed = (fence: number, n: number): TurnFrame => ({ n, fence, type: 'resumed', text: 'so far' });

test('starts a resumed run at its frame and drops frames of the previous run', () => {
  const order = createFrameOrder();
  for (const item of [
    frame(0),
    withFence(7, 1),
    withFence(7, 3),
    resumed(9, 100),
    withFence(7, 2),
    withFence(9, 101),
    withFence(7, 101),
    resumed(7, 50),
  ])
    order.add(item);
  assert.deepEqual(order.take(), [resumed(9, 100), withFence(9, 101)]);
  assert.deepEqual([order.next, order.bufferedCount], [102, 0]);
});

test('holds frames of a resumed run until its first frame', () => {
  const order = createFrameOrder();
  for (const item of [frame(0), withFence(9, 101)]) order.add(item);
  assert.deepEqual(order.take(), [frame(0)]);
  order.add(resumed(9, 100));
  assert.deepEqual(order.take(), [resumed(9, 100), withFence(9, 101)]);
});

test('continues from the stored text when it covers the lost frames', () => {
  const order = createFrameOrder();
  for (const item of [frame(0), withFence(7, 5), withFence(7, 6)]) order.add(item);
  order.take();
  assert.equal(order.skipTo({ text: 'too early', frame: 4, fence: 7 }), false);
  assert.equal(order.skipTo({ text: 'so far', frame: 6, fence: 7 }), true);
  assert.deepEqual(order.take(), [resumed(7, 5), withFence(7, 6)]);
});
