import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSlots, getShare } from './concurrency-slots.ts';

const limits = (agent: string) => [
  { name: 'total', max: 3 },
  { name: agent, max: 2 },
];

test('grants a slot while no limit of the turn is reached', () => {
  const slots = createSlots();
  const first = slots.take(limits('a'));
  assert.ok(first && slots.take(limits('a')));
  assert.equal(slots.take(limits('a')), undefined);
  assert.ok(slots.take(limits('b')));
  assert.equal(slots.take(limits('b')), undefined);
  first.release();
  assert.ok(slots.take(limits('a')));
  assert.equal(slots.hasRoom([{ name: 'a', max: 2 }]), false, 'the other one of the two still runs');
});

test('a share is rounded down but never less than one slot', () => {
  assert.deepEqual([getShare(10, 0.8), getShare(4, 0.8), getShare(1, 0.8), getShare(10, 0.01), getShare(7, 1)], [8, 3, 1, 1, 7]);
});
