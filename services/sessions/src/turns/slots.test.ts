import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSlots } from './slots.ts';

test('there are no more slots than the limits say, over all and for one agent', () => {
  const slots = createSlots();
  const limits = { total: 3, perAgent: 2 };
  assert.deepEqual([slots.take('a', limits), slots.take('a', limits), slots.take('a', limits)], [true, true, false]);
  assert.deepEqual([slots.take('b', limits), slots.take('b', limits)], [true, false]);
  slots.give('a');
  assert.equal(slots.hasRoom('a', limits), true);
  assert.equal(slots.take('b', limits), true);
});
