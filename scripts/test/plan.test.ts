import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planUnits, type PlanOptions } from './plan.ts';

const options = (given: Partial<PlanOptions> = {}): PlanOptions => ({ classify: () => 'shared', getDuration: () => undefined, ...given });
const files = (count: number, folder = 'libs/a'): string[] => Array.from({ length: count }, (_, at) => `${folder}/${at}.test.ts`);

test('planUnits puts shared files of one package into one process', () => {
  const units = planUnits([...files(2), ...files(2, 'libs/b')], options());
  assert.deepEqual(
    units.map((unit) => unit.files),
    [files(2), files(2, 'libs/b')],
  );
});

test('planUnits limits a batch by its number of files and by its duration', () => {
  assert.deepEqual(
    planUnits(files(70), options()).map((unit) => unit.files.length),
    [30, 30, 10],
  );
  assert.deepEqual(
    planUnits(files(4), options({ getDuration: () => 8_000 })).map((unit) => unit.files.length),
    [2, 2],
  );
});

test('planUnits orders units by expected duration, longest first', () => {
  const durations: Record<string, number> = { 'libs/a/0.test.ts': 10, 'libs/a/1.test.ts': 30, 'libs/a/2.test.ts': 20 };
  const units = planUnits(files(3), options({ classify: () => 'own', getDuration: (file) => durations[file] }));
  assert.deepEqual(
    units.map((unit) => unit.expectedMs),
    [30, 20, 10],
  );
});

test('planUnits gives every file to exactly one shard, whatever earlier runs took, and deals each class evenly', () => {
  const all = files(42);
  const classify = (file: string): 'own' | 'cluster' => (Number(/\d+/.exec(file)?.[0]) < 10 ? 'cluster' : 'own');
  const shards = [1, 2, 3, 4].map((index) =>
    // Each shard runs after the one before it recorded its durations.
    planUnits(all, options({ classify, getDuration: (file) => Number(/\d+/.exec(file)?.[0]) * 100 * index, shard: { index, count: 4 } })),
  );
  assert.deepEqual(shards.flatMap((units) => units.flatMap((unit) => unit.files)).toSorted(), all.toSorted());
  const counts = shards.map((units) => units.filter((unit) => unit.class === 'cluster').length);
  assert.deepEqual(counts, [3, 3, 2, 2]);
});
