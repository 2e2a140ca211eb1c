import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gather } from './write-batch.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('what is given in one turn is handed on at its end, in order', async () => {
  const handed: number[] = [];
  const give = gather<number>({ defer: setImmediate, most: 64 }, (item) => handed.push(item));
  give(1);
  process.nextTick(() => give(3));
  assert.deepEqual(handed, []);
  await turn();
  assert.deepEqual(handed, [1, 3]);
});

test('what is given while handing on waits for the next turn', async () => {
  const handed: number[] = [];
  const give = gather<number>({ defer: setImmediate, most: 64 }, (item) => {
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

test('nobody waits for more than so many others', async () => {
  const handed: number[] = [];
  const give = gather<number>({ defer: setImmediate, most: 64 }, (item) => handed.push(item));
  for (let n = 0; n < 150; n++) give(n);
  assert.equal(handed.length, 128);
  await turn();
  assert.deepEqual(
    handed,
    Array.from({ length: 150 }, (_, n) => n),
  );
});

test('at the end of the callback, before anything else has its turn, where that is asked for', async () => {
  const handed: (number | string)[] = [];
  const give = gather<number>({ defer: (handOn) => process.nextTick(handOn), most: 64 }, (item) => handed.push(item));
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
