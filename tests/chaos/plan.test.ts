import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planFaults, planPoints, POINTS } from './plan.ts';

test('a seed determines the plan, and another seed gives another plan', () => {
  const plan = planFaults({ seed: 5, faults: 200, everyMs: 1_000 });
  assert.deepEqual(planFaults({ seed: 5, faults: 200, everyMs: 1_000 }), plan);
  assert.notDeepEqual(planFaults({ seed: 6, faults: 200, everyMs: 1_000 }), plan);
  assert.deepEqual(planFaults({ seed: 5, faults: 50, everyMs: 1_000 }), plan.slice(0, 50));
});

test('a plan contains every kind of fault, mostly kills, within the given time', () => {
  const plan = planFaults({ seed: 1, faults: 1_000, everyMs: 1_000 });
  const kinds = Map.groupBy(plan, ({ fault }) => fault.kind);
  assert.deepEqual([...kinds.keys()].sort(), ['kill', 'lose', 'stop', 'wipe']);
  const kills = kinds.get('kill')?.length ?? 0;
  assert.ok(kills > 600 && kills < 800, `${kills} kills`);
  const lasts = plan.reduce((sum, { afterMs }) => sum + afterMs, 0);
  assert.ok(lasts > 900_000 && lasts < 1_100_000, `${lasts} ms`);
});

test('a plan of points contains each point the given number of times', () => {
  const plan = planPoints({ seed: 1, times: 3, everyMs: 10 });
  const counts = Map.groupBy(plan, ({ fault }) => ('point' in fault ? fault.point : ''));
  assert.deepEqual([...counts.keys()].sort(), POINTS.toSorted());
  for (const [point, planned] of counts) assert.equal(planned.length, 3, point);
});

test('a plan of points can be limited to named points', () => {
  const plan = planPoints({ seed: 1, times: 2, everyMs: 10, of: ['before take', 'after text'] });
  const points = plan.map(({ fault }) => ('point' in fault ? fault.point : ''));
  assert.deepEqual(points.toSorted(), ['after text', 'after text', 'before take', 'before take']);
});
