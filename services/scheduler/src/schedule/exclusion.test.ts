import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ExclusionWindow } from '@switchyard/contracts';
import { findExclusion } from './exclusion.ts';

const schedule = { kind: 'cron' as const, expr: '* * * * *', tz: 'Europe/Oslo' };
const isExcluded = (at: string, window: ExclusionWindow): boolean =>
  findExclusion({ schedule, exclude: [window] }, Date.parse(at)) !== undefined;

test('a window includes its start and excludes its end, by the clock of the zone', () => {
  const lunch = { start: '12:00', end: '13:00' };
  // Oslo is one hour ahead of UTC in winter and two in summer.
  const cases = {
    '2026-01-15T10:59:59Z': false,
    '2026-01-15T11:00:00Z': true,
    '2026-01-15T12:00:00Z': false,
    '2026-07-15T10:00:00Z': true,
  };
  for (const [at, expected] of Object.entries(cases)) assert.equal(isExcluded(at, lunch), expected, at);
});

test('a window across midnight belongs to the day on which it begins', () => {
  const friday: ExclusionWindow = { start: '22:00', end: '06:00', days: ['fri'] };
  // 16 January 2026 is a Friday.
  const cases = {
    '2026-01-16T21:30:00Z': true,
    '2026-01-17T04:30:00Z': true,
    '2026-01-17T05:00:00Z': false,
    '2026-01-16T04:30:00Z': false,
  };
  for (const [at, expected] of Object.entries(cases)) assert.equal(isExcluded(at, friday), expected, at);
  assert.equal(isExcluded('2026-01-17T21:30:00Z', friday), false);
});
