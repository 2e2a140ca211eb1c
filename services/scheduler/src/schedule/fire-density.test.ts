import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countFiresPerHour, HOUR_MS } from './fire-density.ts';
import { findNextFire, type Schedule } from './schedule.ts';
import { findExclusion } from './exclusion.ts';

/** A change of the clock in Oslo: 2026-03-29T01:00Z. */
const FROM = Date.parse('2026-03-28T22:00:00Z');
const AFTER = FROM + 17 * 60_000 + 12_345;
const exclude = [{ start: '08:00', end: '09:30' }];

function countOneByOne(schedule: Schedule, excluded: typeof exclude | undefined): number[] {
  const hours = Array.from({ length: 24 }, () => 0);
  for (let at = findNextFire(schedule, AFTER); at !== null && at < FROM + 24 * HOUR_MS; at = findNextFire(schedule, at)) {
    if (findExclusion({ schedule, exclude: excluded }, at)) continue;
    const hour = Math.floor((at - FROM) / HOUR_MS);
    hours[hour] = (hours[hour] ?? 0) + 1;
  }
  return hours;
}

const cron = (expr: string, tz = 'UTC'): Schedule => ({ kind: 'cron', expr, tz });
const interval = (everyMs: number, anchorMs: number): Schedule => ({ kind: 'interval', everyMs, anchorMs });

const schedules: Schedule[] = [
  cron('*/7 * * * *', 'Europe/Oslo'),
  cron('30 2 * * *', 'Europe/Oslo'),
  cron('0,30 */5 9-17 * * *', 'Asia/Kolkata'),
  cron('*/13 17,18 * * * *'),
  cron('0 4 1 1 *'),
  cron('@hourly'),
  interval(1_000, FROM - 123),
  interval(90_000, AFTER + 5_000),
  interval(7 * HOUR_MS, FROM - 30 * HOUR_MS),
  { kind: 'once', atMs: AFTER + 1 },
  { kind: 'once', atMs: AFTER },
  { kind: 'once', atMs: FROM + 24 * HOUR_MS },
];

test('countFiresPerHour counts what fires one by one, with and without exclusion windows', () => {
  for (const schedule of schedules) {
    for (const windows of [undefined, exclude]) {
      const expected = countOneByOne(schedule, windows);
      const counted = countFiresPerHour({ schedule, exclude: windows }, { fromMs: FROM, afterMs: AFTER });
      assert.deepEqual(counted, expected, JSON.stringify([schedule, windows]));
    }
  }
});

test('countFiresPerHour has no fires after the day', () => {
  assert.ok(countFiresPerHour({ schedule: cron('* * * * *') }, { fromMs: FROM, afterMs: Infinity }).every((count) => count === 0));
});
