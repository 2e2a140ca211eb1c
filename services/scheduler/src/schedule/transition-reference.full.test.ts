import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listFires, listTransitions, ZONES, type TimesOfDay } from './transition-reference.fixture.ts';
import { findLastFire, findNextFire, type Schedule } from './schedule.ts';

const HOUR_MS = 3_600_000;
const WINDOW_MS = 4 * HOUR_MS;
const FROM = Date.parse('2007-01-01T00:00:00Z');
const UNTIL = Date.parse('2027-01-01T00:00:00Z');

const range = (first: number, last: number, step = 1) =>
  Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, n) => first + n * step);
const every = range(0, 23);

const EXPRESSIONS: readonly (TimesOfDay & { expr: string })[] = [
  { expr: '30 2 * * *', minutes: [30], hours: [2], isWildcard: false },
  { expr: '0 0 * * *', minutes: [0], hours: [0], isWildcard: false },
  { expr: '15,45 1-3 * * *', minutes: [15, 45], hours: [1, 2, 3], isWildcard: false },
  { expr: '0 * * * *', minutes: [0], hours: every, isWildcard: true },
  { expr: '*/20 * * * *', minutes: range(0, 59, 20), hours: every, isWildcard: true },
];

test('fires around every change of the clock in 20 years and 30 zones are those of a brute-force reference', { timeout: 120_000 }, (t) => {
  const failures: string[] = [];
  let [transitions, fires] = [0, 0];
  for (const tz of ZONES) {
    for (const transition of listTransitions(tz, FROM, UNTIL)) {
      transitions += 1;
      for (const { expr, ...times } of EXPRESSIONS) {
        const schedule: Schedule = { kind: 'cron', expr, tz };
        const expected = listFires(times, transition, WINDOW_MS);
        const [from, until] = [transition.at - WINDOW_MS, transition.at + WINDOW_MS];
        const found: number[] = [];
        for (let next = findNextFire(schedule, from - 1); next !== null && next < until; next = findNextFire(schedule, next))
          found.push(next);
        fires += found.length;
        const show = (list: readonly number[]) => list.map((ms) => new Date(ms).toISOString().slice(0, 16)).join(' ');
        if (show(found) !== show(expected)) failures.push(`${tz} ${expr}\n  found    ${show(found)}\n  expected ${show(expected)}`);
        const last = found.at(-1);
        if (last !== undefined && findLastFire(schedule, last + 1) !== last)
          failures.push(`${tz} ${expr}: the last fire is not ${show([last])}`);
      }
    }
  }
  t.diagnostic(`${ZONES.length} zones, ${transitions} changes of the clock, ${fires} fires`);
  assert.ok(transitions > 500);
  assert.equal(failures.length, 0, `${failures.length} differences, for example\n${failures.slice(0, 8).join('\n')}`);
});
