import { test } from 'node:test';
import { playSeeds } from './simulation.fixture.ts';

/** `SEED=n` replays one story, `SEEDS=n` sets their number. */
const FIRST = Number(process.env['SEED'] ?? 1);
const LAST = Number(process.env['SEED'] ?? process.env['SEEDS'] ?? 1_000);

test('every accepted document ends once, in order and within its room, with many seeds', { timeout: 900_000 }, async (t) => {
  const { played, total } = await playSeeds((seed) => seed <= LAST, FIRST);
  t.diagnostic(`${played} seeds: ${JSON.stringify(total)}`);
});
