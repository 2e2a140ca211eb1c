import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createWriteBatch } from './write-batch.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('writes the items of one turn at its end, in order', async () => {
  const handed: number[] = [];
  const give = createWriteBatch<number>({ defer: setImmediate, maxItems: 64 }, (item) => handed.push(item));
  give(1);
  process.nextTick(() => give(3));
  assert.deepEqual(handed, []);
  await turn();
  assert.deepEqual(handed, [1, 3]);
});

test('defers items added while writing to the next turn', async () => {
  const handed: number[] = [];
  const give = createWriteBatch<number>({ defer: setImmediate, maxItems: 64 }, (item) => {
    handed.push(item);
    if (item < 3) give(item + 1);
  });
  give(1);
  await turn();
  assert.deepEqual(handed, [1]);
  await turn();
  await turn();
  assert.deepEqual(handed, [1, 2, 3]);
});

test('writes immediately when maxItems are waiting', async () => {
  const handed: number[] = [];
  const give = createWriteBatch<number>({ defer: setImmediate, maxItems: 64 }, (item) => handed.push(item));
  for (let n = 0; n < 150; n++) give(n);
  assert.equal(handed.length, 128);
  await turn();
  assert.deepEqual(
    handed,
    Array.from({ length: 150 }, (_, n) => n),
  );
});

test('writes at the end of the callback with process.nextTick', async () => {
  const handed: (number | string)[] = [];
  const give = createWriteBatch<number>({ defer: (handOn) => process.nextTick(handOn), maxItems: 64 }, (item) => handed.push(item));
  setImmediate(() => {
    give(1);
    give(2);
    assert.deepEqual(handed, []);
  });
  setImmediate(() => handed.push('next'));
  await turn();
  await turn();
  assert.deepEqual(handed, [1, 2, 'next']);
});
