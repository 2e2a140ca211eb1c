import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import { SKIP } from '../cluster/processes.ts';
import { planFaults } from './plan.ts';
import { runChaos } from './run-chaos.ts';

/** The seed is fixed, so that the test is the same every day. `make chaos` runs other seeds. */
const SEED = 1;
const FAULTS = 50;
const EVERY_MS = 800;

test('fifty faults lose, repeat, reorder and leak nothing', { skip: SKIP, timeout: 300_000 }, async (t) => {
  await using dir = await tempDir();
  const plan = planFaults({ seed: SEED, faults: FAULTS, everyMs: EVERY_MS });
  const { violations, figures } = await runChaos(dir.path, { seed: SEED, plan, talkers: 6, say: (line) => t.diagnostic(line) });
  t.diagnostic(JSON.stringify(figures));
  assert.deepEqual(violations, []);
  assert.equal(figures.missed, 0, 'every fault found somebody to hurt');
  assert.ok(figures.done > FAULTS / 5, `clients were at work: ${figures.done} turns`);
  assert.ok(figures.acts > 0 && figures.looks > 0 && figures.received > 0, 'tools acted, and events were heard');
  assert.ok(figures.takenOver > 0, 'a turn went on with another runner');
});
