import assert from 'node:assert/strict';
import { test } from 'node:test';
import { playSeeds } from './simulation.fixture.ts';

/** Enough seeds for each kind of event; further ones only while the machine is fast. */
const MIN_SEEDS = 25;
const MAX_SEEDS = 100;
const BUDGET_MS = 5_000;

test('every accepted document ends once, in order and within its room, with each seed', async (t) => {
  const startedAt = performance.now();
  const { played, total } = await playSeeds(
    (seed) => seed <= MIN_SEEDS || (seed <= MAX_SEEDS && performance.now() - startedAt < BUDGET_MS),
  );
  t.diagnostic(`${played} seeds: ${JSON.stringify(total)}`);
  for (const [name, count] of Object.entries(total)) assert.ok(count > 0, `the stories have no ${name}`);
});
