import assert from 'node:assert/strict';
import { test } from 'node:test';
import { playGraphs, playGraphSeeds } from './graph-simulation.fixture.ts';

/** Enough seeds for each kind of event; further ones only while the machine is fast. */
const MIN_SEEDS = 12;
const MAX_SEEDS = 79;
const BUDGET_MS = 4_000;

test('runs on replicas that are killed end as the reference interpreter says, with one turn per attempt', async (t) => {
  const startedAt = performance.now();
  const { seeds, total } = await playGraphSeeds(
    (seed) => seed <= MIN_SEEDS || (seed <= MAX_SEEDS && performance.now() - startedAt < BUDGET_MS),
  );
  t.diagnostic(`${seeds} seeds: ${JSON.stringify(total)}`);
  for (const [name, count] of Object.entries(total)) assert.ok(count > 0, `the stories have no ${name}`);
});

test('a lost reply frees no slot of a turn that runs, and publishes no second end of a run', async () => {
  for (const seed of [30, 123, 257]) await playGraphs(seed);
});
