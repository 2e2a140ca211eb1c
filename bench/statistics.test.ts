import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pairedRatios, quantile, reaches, summarize } from './statistics.ts';

test('a summary is the middle and the ends, in whatever order the rounds came', () => {
  assert.deepEqual(summarize([3, 1, 2]), { median: 2, min: 1, max: 3 });
  assert.deepEqual(summarize([10, 2, 4, 1]), { median: 3, min: 1, max: 10 });
  assert.deepEqual(summarize([7]), { median: 7, min: 7, max: 7 });
});

test('a quantile lies between its neighbours, and the values stay as they were', () => {
  const values = [9, 0, 10];
  assert.equal(quantile(values, 0.75), 9.5);
  assert.deepEqual(values, [9, 0, 10]);
  assert.throws(() => quantile([], 0.5), RangeError);
});

test('ratios are taken within a round: a machine that slows down for both sides changes nothing', () => {
  assert.deepEqual(pairedRatios([100, 50], [200, 100]), [0.5, 0.5]);
  assert.throws(() => pairedRatios([1], []), RangeError);
});

test('a target is met at its own value, on the right side', () => {
  assert.equal(reaches(0.8, { least: 0.8 }), true);
  assert.equal(reaches(0.79, { least: 0.8 }), false);
  assert.equal(reaches(1.25, { most: 1.25 }), true);
  assert.equal(reaches(1.26, { most: 1.25 }), false);
  assert.equal(reaches(Number.NaN, { least: 0 }), false);
});
