import assert from 'node:assert/strict';
import { test } from 'node:test';
import { playSeed } from './seeds.fixture.ts';

/** `SEED=n` plays one story again, `SEEDS=n` as many as it says. */
const ONE = process.env['SEED'];
const MANY = process.env['SEEDS'];
/** Otherwise so many, or as many as a busy machine plays in this time. */
const USUAL = 2_000;
const LEAST = 100;
const USUAL_MS = 60_000;

test('whatever a seed makes happen, each accepted turn ends once and is counted once, in order', async (t) => {
  const last = Number(ONE ?? MANY ?? USUAL);
  const started = performance.now();
  let played = 0;
  for (let seed = ONE === undefined ? 1 : last; seed <= last; seed += 1) {
    if (MANY === undefined && performance.now() - started > USUAL_MS && played >= LEAST) break;
    try {
      await playSeed(seed);
    } catch (error) {
      throw new Error(`with SEED=${seed}`, { cause: error });
    }
    played += 1;
  }
  t.diagnostic(`${played} seeds in ${Math.round(performance.now() - started)} ms`);
  assert.ok(played > 0);
});
