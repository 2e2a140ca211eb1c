import { test } from 'node:test';
import { playGraphSeeds } from './graph-simulation.fixture.ts';

const MAX_SEEDS = 1_000;
const BUDGET_MS = 60_000;

test('1,000 seeds, or as many as a minute allows, violate no guarantee', async (t) => {
  const startedAt = performance.now();
  const { seeds, total } = await playGraphSeeds((seed) => seed <= MAX_SEEDS && performance.now() - startedAt < BUDGET_MS);
  t.diagnostic(`${seeds} seeds: ${JSON.stringify(total)}`);
});
