import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addDuration, getMedian } from './run-durations.ts';

test('the median needs five runs', () => {
  assert.equal(getMedian([1, 2, 3, 4]), undefined);
  assert.equal(getMedian([9, 1, 5, 3, 7]), 5);
  assert.equal(getMedian([9, 1, 5, 3, 7, 6]), 5.5);
});

test('the last twenty durations are kept', () => {
  const kept = Array.from({ length: 30 }, (_, at) => at).reduce<number[]>((all, at) => addDuration(all, at), []);
  assert.deepEqual([kept.length, kept[0], kept.at(-1)], [20, 10, 29]);
});
