import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createReplayQueue } from './replay-queue.ts';

test('tenants take turns, however many reads one of them requests', async () => {
  const order: string[] = [];
  const queue = createReplayQueue(async (tenant, fromSeq) => void order.push(`${tenant}${fromSeq}`));
  const reads = Array.from({ length: 20 }, (_, n) => queue.read('busy', n));
  await queue.read('quiet', 0);
  assert.ok(order.indexOf('quiet0') <= 5, order.join());
  await Promise.all(reads);
  assert.equal(order.length, 21);
});

test('equal reads at the same time are made once', async () => {
  let count = 0;
  const queue = createReplayQueue(async () => ++count);
  assert.deepEqual(await Promise.all([queue.read('a', 1), queue.read('a', 1), queue.read('a', 2), queue.read('b', 1)]), [1, 1, 2, 3]);
  assert.equal(await queue.read('a', 1), 4, 'a later read is a new one');
});

test('other work runs between two reads, and a failed read does not stop the others', async () => {
  let reads = 0;
  const queue = createReplayQueue(async (_, fromSeq) => {
    reads += 1;
    if (fromSeq === 0) throw new Error('no log');
  });
  const all = Array.from({ length: 12 }, (_, n) => queue.read('a', n));
  const first = assert.rejects(all[0]!, /no log/);
  const seen = await new Promise<number>((resolve) => void setImmediate(() => resolve(reads)));
  assert.ok(seen < 12, `${seen} reads before the event loop went on`);
  await Promise.all([first, ...all.slice(1)]);
});
