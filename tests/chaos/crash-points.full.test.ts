import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import { SKIP } from '../cluster/processes.ts';
import { planPoints, POINTS } from './plan.ts';
import { runChaos } from './run-chaos.ts';

const SEED = 2;
const EVERY_MS = 200;
/** Half of the points, alternating before and after, to save minutes. `make chaos POINTS=20` runs all of them many times. */
const SOME = POINTS.filter((_, at) => at % 4 === 0 || at % 4 === 3);

test('loses nothing when sessions is killed before or after a write, call or event', { skip: SKIP, timeout: 400_000 }, async (t) => {
  await using dir = await tempDir();
  const plan = planPoints({ seed: SEED, times: 1, everyMs: EVERY_MS, of: SOME });
  const { violations, unreached, figures } = await runChaos(dir.path, { seed: SEED, plan, talkers: 4, say: (line) => t.diagnostic(line) });
  t.diagnostic(JSON.stringify(figures));
  assert.deepEqual(violations, []);
  assert.deepEqual(unreached, []);
  assert.equal(Object.keys(figures.points).length, SOME.length);
  assert.ok(figures.takenOver > 0, 'a turn went on with another runner');
});
