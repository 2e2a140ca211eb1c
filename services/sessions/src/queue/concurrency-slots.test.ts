import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSlots } from './concurrency-slots.ts';

const limits = { total: 3, perAgent: 2 };

test('grants no more slots than the total and per-agent limits', () => {
  const slots = createSlots();
  const first = slots.take('a', limits);
  assert.ok(first && slots.take('a', limits));
  assert.equal(slots.take('a', limits), undefined);
  assert.ok(slots.take('b', limits));
  assert.equal(slots.take('b', limits), undefined);
  first.release();
  assert.ok(slots.take('a', limits));
  assert.equal(slots.hasRoom('a', { ...limits, total: 9 }), false, 'the other one of the two still runs');
});
