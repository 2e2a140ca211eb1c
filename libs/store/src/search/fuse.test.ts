import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fuse } from './fuse.ts';

const near = (found: number | undefined, meant: number): void =>
  assert.ok(Math.abs((found ?? -1) - meant) < 1e-12, `${found}, not ${meant}`);

test('places count by their reciprocals from the sixty-first on, each lane by its weight, and 1 is first in all of them', () => {
  const best = 1 / 61 + 1.5 / 61;
  const [first, second, third] = fuse([
    { ids: ['both', 'words'], weight: 1 },
    { ids: ['both', 'likeness'], weight: 1.5 },
  ]);
  assert.deepEqual([first?.id, second?.id, third?.id], ['both', 'likeness', 'words']);
  near(first?.score, 1);
  near(second?.score, 1.5 / 62 / best);
  near(third?.score, 1 / 62 / best);
});

test('one lane alone gives its own order, the first with 1; equal ones are in the order of their ids', () => {
  const [first, second] = fuse([{ ids: ['b', 'a'], weight: 1 }]);
  assert.deepEqual([first?.id, first?.score, second?.id], ['b', 1, 'a']);
  const even = fuse([
    { ids: ['z'], weight: 1 },
    { ids: ['y'], weight: 1 },
  ]);
  assert.deepEqual(
    even.map(({ id }) => id),
    ['y', 'z'],
  );
});
