import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CronSchedule } from '@switchyard/contracts';
import { parseSchedule } from './parse-schedule.ts';

const now = Date.parse('2026-11-27T05:00:00Z');
const parse = (schedule: CronSchedule, defaultTimezone = '') => parseSchedule(schedule, { defaultTimezone, now });

test('rejects schedules that cannot fire and names the field', () => {
  const refused: [CronSchedule, RegExp][] = [
    [{ kind: 'cron', expr: '0 0 30 2 *' }, /schedule\.expr: .*never fires/],
    [{ kind: 'cron', expr: '61 * * * *' }, /schedule\.expr: .*such as 0 22 \* \* \*, got an invalid one \(Invalid value for minute: 61\)/],
    [{ kind: 'cron', expr: '* * * * * * 2030' }, /schedule\.expr: .*7 parts/],
    [{ kind: 'interval', everyMs: 999 }, /schedule\.everyMs: expected number of at least 1000, got smaller number/],
    [{ kind: 'once', at: now }, /schedule\.at: expected a time in the future, got one in the past/],
    [{ kind: 'once', at: '2026-11-27T05:30', tz: 'Europe/Oslo' }, /schedule\.at: .*past/],
  ];
  for (const [schedule, message] of refused) assert.throws(() => parse(schedule), { code: 'INVALID_ARGUMENT', message });
});

test('fills in the zone, the anchor and the instant', () => {
  assert.deepEqual(parse({ kind: 'cron', expr: '0 22 * * *' }), { kind: 'cron', expr: '0 22 * * *', tz: 'UTC' });
  assert.deepEqual(parse({ kind: 'cron', expr: '0 22 * * *' }, 'Europe/Oslo'), { kind: 'cron', expr: '0 22 * * *', tz: 'Europe/Oslo' });
  assert.deepEqual(parse({ kind: 'interval', everyMs: 5_000 }), { kind: 'interval', everyMs: 5_000, anchorMs: now });
  const instants: [string, string | undefined, string][] = [
    ['2030-07-01T08:00', 'Europe/Oslo', '2030-07-01T06:00:00.000Z'],
    ['2030-07-01T08:00', undefined, '2030-07-01T08:00:00.000Z'],
    ['2030-07-01T08:00:30+01:00', 'Europe/Oslo', '2030-07-01T07:00:30.000Z'],
    ['2030-07-01T08:00Z', undefined, '2030-07-01T08:00:00.000Z'],
  ];
  for (const [at, tz, expected] of instants)
    assert.deepEqual(parse({ kind: 'once', at, ...(tz && { tz }) }), { kind: 'once', atMs: Date.parse(expected) });
});
