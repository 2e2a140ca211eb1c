import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { runInSlots } from './pool.ts';

test('runInSlots never uses more slots than there are, and runs every task', async () => {
  let used = 0;
  let max = 0;
  const ran: number[] = [];
  await runInSlots([1, 2, 1, 5, 1, 2], 3, {
    getSlots: (slots) => slots,
    async run(slots) {
      used += Math.min(slots, 3);
      max = Math.max(max, used);
      await sleep(2);
      used -= Math.min(slots, 3);
      ran.push(slots);
    },
  });
  assert.equal(max, 3);
  assert.deepEqual(
    ran.toSorted((a, b) => a - b),
    [1, 1, 1, 2, 2, 5],
  );
});

test('runInSlots lets a small task pass one that does not fit', async () => {
  const order: string[] = [];
  await runInSlots(['one', 'two', 'small'], 2, {
    getSlots: (task) => (task === 'two' ? 2 : 1),
    async run(task) {
      order.push(task);
      await sleep(1);
    },
  });
  assert.deepEqual(order, ['one', 'small', 'two']);
});
