import assert from 'node:assert/strict';
import { test } from 'node:test';
import { playWork, recordGuards, withoutGuard, type WorkGuard } from '@switchyard/testkit';
import { PROVEN_GUARDS, SCRIPTED_GUARDS, UNPROVEN_GUARDS } from './guards.fixture.ts';
import { story } from './simulation.fixture.ts';

/** Seeds in which every guard occurs. */
const RECORDED_SEEDS = 30;
const MAX_SEEDS = 300;

const describeGuard = ({ write, field }: WorkGuard): string => `${field} of ${write}`;

async function findSeed(guard: WorkGuard, first: number): Promise<number | undefined> {
  for (let n = 0; n < MAX_SEEDS; n += 1) {
    const seed = ((first - 1 + n) % MAX_SEEDS) + 1;
    const isCaught = await playWork(seed, story, { sabotage: withoutGuard(guard) }).then(
      () => false,
      () => true,
    );
    if (isCaught) return seed;
  }
  return undefined;
}

for (const guard of PROVEN_GUARDS) {
  test(`a story fails without the guard ${describeGuard(guard)}`, { timeout: 300_000 }, async (t) => {
    const seed = await findSeed(guard, guard.seed);
    assert.ok(seed !== undefined, `no story within ${MAX_SEEDS} seeds`);
    if (seed !== guard.seed) t.diagnostic(`begin at ${seed}`);
    await playWork(seed, story);
  });
}

test('each guard of a write is listed', { timeout: 300_000 }, async () => {
  const guards = recordGuards(['taskId', 'room']);
  for (let seed = 1; seed <= RECORDED_SEEDS; seed += 1) await playWork(seed, story, { sabotage: guards.sabotage });
  const listed = new Set([...PROVEN_GUARDS, ...SCRIPTED_GUARDS, ...UNPROVEN_GUARDS].map(describeGuard));
  assert.deepEqual(
    guards
      .list()
      .map(describeGuard)
      .filter((guard) => !listed.has(guard)),
    [],
  );
});
