import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pairedRatios, quantile, reaches, summarize } from './statistics.ts';

test('summarize returns median and range in any order of the rounds', () => {
  assert.deepEqual(summarize([3, 1, 2]), { median: 2, min: 1, max: 3 });
  assert.deepEqual(summarize([10, 2, 4, 1]), { median: 3, min: 1, max: 10 });
  assert.deepEqual(summarize([7]), { median: 7, min: 7, max: 7 });
});

test('quantile interpolates between neighbours and does not change its input', () => {
  const values = [9, 0, 10];
  assert.equal(quantile(values, 0.75), 9.5);
  assert.deepEqual(values, [9, 0, 10]);
  assert.throws(() => quantile([], 0.5), RangeError);
});

test('pairedRatios is unaffected by a machine that slows down for both sides', () => {
  assert.deepEqual(pairedRatios([100, 50], [200, 100]), [0.5, 0.5]);
  assert.throws(() => pairedRatios([1], []), RangeError);
});

test('reaches includes the target value itself', () => {
  assert.equal(reaches(0.8, { least: 0.8 }), true);
  assert.equal(reaches(0.79, { least: 0.8 }), false);
  assert.equal(reaches(1.25, { most: 1.25 }), true);
  assert.equal(reaches(1.26, { most: 1.25 }), false);
  assert.equal(reaches(Number.NaN, { least: 0 }), false);
});
