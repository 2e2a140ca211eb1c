import { test } from 'node:test';
import { playGraphSeeds } from './graph-simulation.fixture.ts';

/** `SEED=n` replays one story, `SEEDS=n` sets their number. */
const FIRST = Number(process.env['SEED'] ?? 1);
const LAST = Number(process.env['SEED'] ?? process.env['SEEDS'] ?? 500);

test('runs on killed replicas end as the reference interpreter says, with many seeds', { timeout: 600_000 }, async (t) => {
  const { seeds, total } = await playGraphSeeds((seed) => seed <= LAST, FIRST);
  t.diagnostic(`${seeds} seeds: ${JSON.stringify(total)}`);
});
