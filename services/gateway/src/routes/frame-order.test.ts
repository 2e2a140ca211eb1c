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
