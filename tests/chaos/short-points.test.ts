import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import { SKIP } from '../cluster/processes.ts';
import { planPoints, POINTS } from './plan.ts';
import { runChaos } from './run-chaos.ts';

const SEED = 2;
const EVERY_MS = 200;

test('sessions dies once before and after each write, call and event, and nothing is lost', { skip: SKIP, timeout: 400_000 }, async (t) => {
  await using dir = await tempDir();
  const plan = planPoints({ seed: SEED, times: 1, everyMs: EVERY_MS });
  const { violations, unreached, figures } = await runChaos(dir.path, { seed: SEED, plan, talkers: 4, say: (line) => t.diagnostic(line) });
  t.diagnostic(JSON.stringify(figures));
  assert.deepEqual(violations, []);
  assert.deepEqual(unreached, []);
  assert.equal(Object.keys(figures.points).length, POINTS.length);
  assert.ok(figures.takenOver > 0, 'a turn went on with another runner');
});
