import { test } from 'node:test';
import { playSeed } from './seeds.fixture.ts';

/** `SEED=n` plays one story again, `SEEDS=n` as many. */
const SEEDS = Number(process.env['SEEDS'] ?? 2_000);
const ONE = process.env['SEED'];

test('whatever a seed makes happen, each accepted turn ends once and is counted once, in order', async (t) => {
  const seeds = ONE === undefined ? Array.from({ length: SEEDS }, (_, at) => at + 1) : [Number(ONE)];
  const started = performance.now();
  for (const seed of seeds) {
    try {
      await playSeed(seed);
    } catch (error) {
      throw new Error(`with SEED=${seed}`, { cause: error });
    }
  }
  t.diagnostic(`${seeds.length} seeds in ${Math.round(performance.now() - started)} ms`);
});
