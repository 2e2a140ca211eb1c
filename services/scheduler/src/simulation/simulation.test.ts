import assert from 'node:assert/strict';
import { test } from 'node:test';
import { playCron, type CronStory } from './simulation.fixture.ts';

/** Enough seeds for each kind of event; further ones only while the machine is fast. */
const MIN_SEEDS = 8;
const MAX_SEEDS = 100;
const BUDGET_MS = 4_000;
/** `SEED=n` replays one story. */
const SEED = process.env['SEED'];

test('each fire has one run and one turn on three replicas with skewed clocks, kills and pauses', { timeout: 120_000 }, async (t) => {
  const startedAt = performance.now();
  const total: CronStory = { fires: 0, skips: 0, kills: 0, pauses: 0, skewed: 0 };
  let seed = Number(SEED ?? 1);
  const goesOn = (): boolean => seed <= MIN_SEEDS || (seed <= MAX_SEEDS && performance.now() - startedAt < BUDGET_MS);
  for (; SEED === undefined ? goesOn() : seed === Number(SEED); seed += 1) {
    const seen = await playCron(seed).catch((error: unknown) => {
      throw new Error(`with SEED=${seed}`, { cause: error });
    });
    for (const name of Object.keys(total) as (keyof CronStory)[]) total[name] += seen[name];
  }
  t.diagnostic(`${seed - 1} seeds: ${JSON.stringify(total)}`);
  if (SEED === undefined) for (const [name, count] of Object.entries(total)) assert.ok(count > 0, `the stories have no ${name}`);
});
