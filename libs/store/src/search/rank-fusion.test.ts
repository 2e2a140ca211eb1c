import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fuseRankings } from './rank-fusion.ts';

function assertClose(actual: number | undefined, expected: number): void {
  assert.ok(Math.abs((actual ?? -1) - expected) < 1e-12, `${actual}, not ${expected}`);
}

test('scores an entry by weighted reciprocal ranks, and by 1 if every list ranks it first', () => {
  const max = 1 / 61 + 1.5 / 61;
  const [first, second, third] = fuseRankings([
    { ids: ['both', 'words'], weight: 1 },
    { ids: ['both', 'vectors'], weight: 1.5 },
  ]);
  assert.deepEqual([first?.id, second?.id, third?.id], ['both', 'vectors', 'words']);
  assertClose(first?.score, 1);
  assertClose(second?.score, 1.5 / 62 / max);
  assertClose(third?.score, 1 / 62 / max);
});

test('keeps the order of a single list and orders ties by id', () => {
  const [first, second] = fuseRankings([{ ids: ['b', 'a'], weight: 1 }]);
  assert.deepEqual([first?.id, first?.score, second?.id], ['b', 1, 'a']);
  const ties = fuseRankings([
    { ids: ['z'], weight: 1 },
    { ids: ['y'], weight: 1 },
  ]);
  assert.deepEqual(
    ties.map(({ id }) => id),
    ['y', 'z'],
  );
});
