import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findLastFire, findNextFire, type Schedule } from './schedule.ts';

const at = (text: string): number => Date.parse(text);

function listFires(schedule: Schedule, from: string, count: number): (string | null)[] {
  const fires: (string | null)[] = [];
  for (let after: number | null = at(from); fires.length < count && after !== null;) {
    after = findNextFire(schedule, after);
    fires.push(after === null ? null : new Date(after).toISOString());
  }
  return fires;
}

test('six fields begin with seconds', () => {
  const everySecond: Schedule = { kind: 'cron', expr: '* * * * * *', tz: 'UTC' };
  assert.deepEqual(listFires(everySecond, '2026-01-01T00:00:00.400Z', 2), ['2026-01-01T00:00:01.000Z', '2026-01-01T00:00:02.000Z']);
});

test('a fixed time fires once on the days on which the clock changes', () => {
  const halfPastTwo: Schedule = { kind: 'cron', expr: '30 2 * * *', tz: 'Europe/Oslo' };
  assert.deepEqual(listFires(halfPastTwo, '2026-03-28T12:00:00Z', 2), ['2026-03-29T01:00:00.000Z', '2026-03-30T00:30:00.000Z']);
  assert.deepEqual(listFires(halfPastTwo, '2026-10-24T12:00:00Z', 2), ['2026-10-25T00:30:00.000Z', '2026-10-26T01:30:00.000Z']);
});

test('an hourly expression fires in every hour that passes', () => {
  const hourly: Schedule = { kind: 'cron', expr: '0 * * * *', tz: 'Europe/Oslo' };
  const back = ['2026-10-25T00:00:00.000Z', '2026-10-25T01:00:00.000Z', '2026-10-25T02:00:00.000Z'];
  assert.deepEqual(listFires(hourly, '2026-10-24T23:59:59Z', 3), back);
});

test('an interval counts from its anchor', () => {
  const schedule: Schedule = { kind: 'interval', everyMs: 1_000, anchorMs: 500 };
  assert.deepEqual(
    [0, 500, 1_499, 1_500].map((after) => findNextFire(schedule, after)),
    [1_500, 1_500, 1_500, 2_500],
  );
  assert.deepEqual(
    [1_499, 1_500, 2_499].map((until) => findLastFire(schedule, until)),
    [null, 1_500, 1_500],
  );
});

test('one time fires once', () => {
  const once: Schedule = { kind: 'once', atMs: 500 };
  assert.deepEqual(
    [findNextFire(once, 499), findNextFire(once, 500), findLastFire(once, 499), findLastFire(once, 500)],
    [500, null, null, 500],
  );
});

test('the last fire is the one that the next fire before it finds', () => {
  for (const [expr, tz] of [
    ['*/7 3 * * 1-5', 'America/New_York'],
    ['15 10 1 * *', 'Asia/Kolkata'],
    ['* * * * * *', 'UTC'],
  ] as const) {
    const schedule: Schedule = { kind: 'cron', expr, tz };
    for (const now of ['2026-03-08T07:30:00Z', '2026-11-01T06:30:00.999Z', '2026-06-01T00:00:00Z'].map(at)) {
      const last: number = findLastFire(schedule, now) ?? assert.fail();
      assert.ok(last <= now);
      assert.equal(findNextFire(schedule, last - 1), last);
      assert.ok((findNextFire(schedule, last) ?? 0) > now);
    }
  }
});
