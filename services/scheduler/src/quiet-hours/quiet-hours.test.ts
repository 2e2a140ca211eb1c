import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isQuiet } from './quiet-hours.ts';

const night = { enabled: true, start: '22:00', end: '07:00', timezone: 'UTC' };
const at = (time: string): number => Date.parse(`2026-01-15T${time}Z`);

test('quiet hours include their start and exclude their end, also across midnight', () => {
  const cases: [time: string, isQuiet: boolean][] = [
    ['21:59:59', false],
    ['22:00:00', true],
    ['23:59:59', true],
    ['00:00:00', true],
    ['06:59:59', true],
    ['07:00:00', false],
    ['12:00:00', false],
  ];
  for (const [time, quiet] of cases) assert.equal(isQuiet(night, at(time)), quiet, time);
  const noon = { ...night, start: '12:00', end: '13:00' };
  assert.deepEqual(
    ['11:59:59', '12:00:00', '12:59:59', '13:00:00'].map((time) => isQuiet(noon, at(time))),
    [false, true, true, false],
  );
});

test('quiet hours follow the clock of their zone when it changes', () => {
  const oslo = { ...night, timezone: 'Europe/Oslo' };
  // 22:00 in Oslo is 21:00 UTC in winter and 20:00 UTC in summer.
  const times = ['2026-01-15T20:30Z', '2026-01-15T21:00Z', '2026-07-15T20:00Z', '2026-07-15T05:00Z', '2026-07-15T04:59Z'];
  assert.deepEqual(
    times.map((time) => isQuiet(oslo, Date.parse(time))),
    [false, true, true, false, true],
  );
  const kolkata = { ...night, timezone: 'Asia/Kolkata' };
  assert.deepEqual([isQuiet(kolkata, at('16:29:00')), isQuiet(kolkata, at('16:30:00'))], [false, true]);
});

test('disabled, empty and invalid quiet hours are never quiet', () => {
  const never = [{ enabled: false }, { start: '22:00', end: '22:00' }, { start: '25:00' }, { end: 'seven' }, { start: '' }];
  for (const change of never) assert.equal(isQuiet({ ...night, ...change }, at('23:00:00')), false, JSON.stringify(change));
});
