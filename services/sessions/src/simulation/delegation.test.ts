import assert from 'node:assert/strict';
import { test } from 'node:test';
import { playDelegation } from './seeds.fixture.ts';

/** Enough seeds for each kind of event; further ones only while the machine is fast. */
const MIN_SEEDS = 12;
const MAX_SEEDS = 60;
const BUDGET_MS = 5_000;

test('approved calls run once and as approved, and the results of sub-agents are heard once, with each seed', async (t) => {
  const startedAt = performance.now();
  const { played, total } = await playDelegation(
    (seed) => seed <= MIN_SEEDS || (seed <= MAX_SEEDS && performance.now() - startedAt < BUDGET_MS),
  );
  t.diagnostic(`${played} seeds: ${JSON.stringify(total)}`);
  for (const [name, count] of Object.entries(total)) assert.ok(count > 0, `the stories have no ${name}`);
});
