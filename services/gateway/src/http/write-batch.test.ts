import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createWriteBatch } from './write-batch.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('writes the items of one turn at its end, in order', async () => {
  const written: number[] = [];
  const add = createWriteBatch<number>({ defer: setImmediate, maxItems: 64 }, (item) => written.push(item));
  add(1);
  process.nextTick(() => add(3));
  assert.deepEqual(written, []);
  await turn();
  assert.deepEqual(written, [1, 3]);
});

test('defers items added while writing to the next turn', async () => {
  const written: number[] = [];
  const add = createWriteBatch<number>({ defer: setImmediate, maxItems: 64 }, (item) => {
    written.push(item);
    if (item < 3) add(item + 1);
  });
  add(1);
  await turn();
  assert.deepEqual(written, [1]);
  await turn();
  await turn();
  assert.deepEqual(written, [1, 2, 3]);
});

test('writes immediately when maxItems are waiting', async () => {
  const written: number[] = [];
  const add = createWriteBatch<number>({ defer: setImmediate, maxItems: 64 }, (item) => written.push(item));
  for (let n = 0; n < 150; n++) add(n);
  assert.equal(written.length, 128);
  await turn();
  assert.deepEqual(
    written,
    Array.from({ length: 150 }, (_, n) => n),
  );
});

test('writes at the end of the callback with process.nextTick', async () => {
  const written: (number | string)[] = [];
  const add = createWriteBatch<number>({ defer: (callback) => process.nextTick(callback), maxItems: 64 }, (item) => written.push(item));
  setImmediate(() => {
    add(1);
    add(2);
    assert.deepEqual(written, []);
  });
  setImmediate(() => written.push('next'));
  await turn();
  await turn();
  assert.deepEqual(written, [1, 2, 'next']);
});
