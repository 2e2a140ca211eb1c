import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Write } from '@switchyard/testkit';
import { DELEGATES, playDelegation, playSeed } from './seeds.fixture.ts';

/** `SEED=n` replays one story, `SEEDS=n` sets their number. */
const FIRST = Number(process.env['SEED'] ?? 1);
const LAST = Number(process.env['SEED'] ?? process.env['SEEDS'] ?? 500);
const MAX_SABOTAGE_SEEDS = 300;

test('approvals, sub-agents and kills beside turns keep their guarantees with many seeds', { timeout: 900_000 }, async (t) => {
  const { played, total } = await playDelegation((seed) => seed <= LAST, FIRST);
  t.diagnostic(`${played} seeds: ${JSON.stringify(total)}`);
});

/** Guards of the writes that decide a request and that end a run. */
const GUARDS = [
  { collection: 'approvals', sets: 'verdict', without: ['verdict', 'state', 'dueAt'], violation: /second verdict|changed after/ },
  { collection: 'runs', sets: 'endReason', without: ['endReason'], violation: /ended twice/ },
];

for (const { collection, sets, without, violation } of GUARDS) {
  const sabotage = (write: Write): Record<string, unknown> => {
    if (write.collection !== collection || write.change.set?.[sets] === undefined) return write.filter;
    return Object.fromEntries(Object.entries(write.filter).filter(([field]) => !without.includes(field)));
  };
  test(`a story fails without the guard of the write that sets ${sets} of ${collection}`, { timeout: 300_000 }, async (t) => {
    for (let seed = 1; seed <= MAX_SABOTAGE_SEEDS; seed += 1) {
      const error = await playSeed(seed, { waits: DELEGATES, sabotage }).then(
        () => undefined,
        (cause: Error) => cause,
      );
      if (!error || !violation.test(error.message)) continue;
      t.diagnostic(`seed ${seed}: ${error.message}`);
      return;
    }
    assert.fail(`no story within ${MAX_SABOTAGE_SEEDS} seeds`);
  });
}
