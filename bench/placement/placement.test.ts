import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAgenda } from './agenda.ts';
import { simulate, type Scenario } from './simulate.ts';
import { erlangWait, fairShares, turnWait } from './theory.ts';
import { createWaitingLines } from './waiting-lines.ts';

const SMALL: Scenario = {
  seed: 7,
  replicas: 10,
  slots: 4,
  slotsOfTenant: 4,
  tenants: 50,
  skew: 1.1,
  load: 2,
  meanMs: 1_000,
  wakeMs: 1,
  sweepMs: 1_000,
  depth: 100,
  order: 'longest-ago',
  lengthMs: 120_000,
};

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

test('an agenda returns events by time, and in insertion order at the same time', () => {
  const agenda = createAgenda<string>();
  for (const [at, description] of [
    [3, 'c'],
    [1, 'a'],
    [2, 'b1'],
    [2, 'b2'],
    [0, 'first'],
  ] as const)
    agenda.add(at, description);
  const order: string[] = [];
  for (let next = agenda.next(); next !== undefined; next = agenda.next()) order.push(next.what);
  assert.deepEqual(order, ['first', 'a', 'b1', 'b2', 'c']);
});

test('take removes the head of the allowed queue with the lowest rank', () => {
  const lines = createWaitingLines<string>();
  for (const [key, item] of [
    [5, 'x1'],
    [3, 'y1'],
    [5, 'x2'],
  ] as const)
    lines.push(key, item);
  const rank = (key: number): number => -key;
  assert.deepEqual(
    lines.take(rank, (first) => first !== 'x1'),
    { key: 3, item: 'y1' },
  );
  assert.deepEqual(
    lines.take(rank, () => true),
    { key: 5, item: 'x1' },
  );
  assert.deepEqual([lines.lines, lines.length(5)], [1, 1]);
  assert.equal(
    lines.take(rank, () => false),
    undefined,
  );
});

test('the formulas match published values', () => {
  assert.ok(Math.abs(erlangWait({ servers: 1, load: 0.5, meanMs: 10 }) - 10) < 1e-9, 'one server: load ÷ (1 − load) of a turn');
  assert.ok(Math.abs(erlangWait({ servers: 2, load: 0.75, meanMs: 1 }) - 9 / 7) < 1e-9);
  assert.deepEqual(fairShares([8, 1, 3], 9), [5, 1, 3]);
  assert.deepEqual(fairShares([8, 8, 1], 7), [3, 3, 1]);
  assert.equal(turnWait({ lines: 10, startsPerMs: 2 }), 5);
  assert.ok(Math.abs(turnWait({ lines: 10, startsPerMs: 2 }, 0.99) - 23.03) < 0.01);
});

test('a run is determined by its seed, and matches the formula with one server', () => {
  const one = { ...SMALL, replicas: 1, slots: 1, slotsOfTenant: 1, tenants: 1, load: 0.7, lengthMs: 20_000_000, depth: 1e6 };
  const waits = simulate(one).tenants[0]!.waits;
  assert.deepEqual(simulate(one).tenants[0]!.waits, waits);
  const theory = erlangWait({ servers: 1, load: 0.7, meanMs: 1_000 });
  assert.ok(Math.abs(mean(waits) / theory - 1) < 0.1, `${mean(waits)} where theory says ${theory}`);
});

test('at twice the capacity small tenants wait at most one round, and all tenants get their fair share', () => {
  const { tenants, linesSeen, busy } = simulate(SMALL);
  const startsPerMs = (SMALL.replicas * SMALL.slots) / SMALL.meanMs;
  assert.ok(busy > 0.98, `${busy} of the slots worked`);
  const small = tenants.slice(25).flatMap(({ waits }) => waits);
  assert.ok(mean(small) <= turnWait({ lines: linesSeen, startsPerMs }), `${mean(small)} ms with ${linesSeen} lines`);
  const fair = fairShares(
    tenants.map(({ demand }) => demand),
    startsPerMs,
  );
  for (const [index, { waits }] of tenants.entries()) {
    const share = fair[index]! * SMALL.lengthMs;
    // Arrivals are random: their number varies by its square root.
    assert.ok(waits.length > 0.9 * share - 3 * Math.sqrt(share), `tenant ${index} got ${waits.length} of ${share}`);
  }
});

test('oldest-first starves tenants with little load', () => {
  const slow = simulate({ ...SMALL, order: 'oldest-first' })
    .tenants.slice(25)
    .flatMap(({ waits }) => waits);
  const fair = simulate(SMALL)
    .tenants.slice(25)
    .flatMap(({ waits }) => waits);
  assert.ok(mean(slow) > 20 * mean(fair), `${mean(slow)} ms against ${mean(fair)} ms`);
});
