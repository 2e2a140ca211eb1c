import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseParams } from '../definition/validation.ts';
import { cronMethods, CronSchedule } from './cron.ts';

const add = cronMethods['cron.add'].params;
const run = cronMethods['cron.run'].params;
const job = { name: 'tick', message: 'What time is it?' };

function refused(schedule: unknown, message: string): void {
  assert.throws(() => parseParams(add, { ...job, schedule }), { code: 'INVALID_ARGUMENT', message: `Invalid params: ${message}` });
}

test('each kind of schedule is accepted with its own fields', () => {
  const accepted = [
    { kind: 'cron', expr: '0 22 * * *' },
    { kind: 'cron', expr: '*/10 * * * * *', tz: 'Europe/Oslo' },
    { kind: 'interval', everyMs: 1 },
    { kind: 'once', at: '2030-01-01T08:00:00+01:00' },
    { kind: 'once', at: '2030-01-01T07:00:00Z' },
    { kind: 'once', at: 1893484800000 },
  ];
  for (const schedule of accepted) assert.deepEqual(parseParams(CronSchedule, schedule), schedule);
});

test('a kind nobody knows is refused with the three there are', () => {
  const kinds = 'schedule.kind: expected one of "cron", "interval", "once"';
  refused({ kind: 'every', everyMs: 1000 }, `${kinds}, got another string`);
  refused({ everyMs: 1000 }, `${kinds}, got nothing`);
});

test('a missing field of a schedule kind is named', () => {
  refused({ kind: 'cron' }, 'schedule.expr: expected string, got nothing');
  refused({ kind: 'interval' }, 'schedule.everyMs: expected number, got nothing');
  refused({ kind: 'once', at: '2030-01-01' }, 'schedule.at: expected a date and time of ISO 8601, got string');
  refused(undefined, 'schedule: expected object, got nothing');
});

test('fields of other schedule kinds are ignored, unknown fields are rejected', () => {
  const whole = { expr: '* * * * *', tz: 'Nowhere', everyMs: 1000, at: 'never' };
  assert.deepEqual(parseParams(CronSchedule, { ...whole, kind: 'interval' }), { kind: 'interval', everyMs: 1000 });
  assert.deepEqual(parseParams(CronSchedule, { ...whole, kind: 'cron', tz: 'UTC' }), { kind: 'cron', expr: '* * * * *', tz: 'UTC' });
  const once = { kind: 'once', at: '2030-01-01T08:00:00Z', tz: 'UTC' };
  assert.deepEqual(parseParams(CronSchedule, { ...whole, ...once }), once);
  refused(
    { kind: 'interval', everyMs: 1000, every: 5 },
    'schedule.every: expected no such parameter, got an unknown name (did you mean everyMs?)',
  );
});

test('a moment may lack its seconds, and its offset where the zone says whose time it is', () => {
  for (const at of ['2030-01-01T08:00', '2030-01-01T08:00Z', '2030-01-01T08:00+01:00', '2030-01-01T08:00:30'])
    assert.deepEqual(parseParams(CronSchedule, { kind: 'once', at, tz: 'Europe/Oslo' }), { kind: 'once', at, tz: 'Europe/Oslo' });
  for (const at of ['2030-01-01 08:00', '2030-02-30T08:00', '08:00', 'tomorrow', ''])
    refused({ kind: 'once', at }, 'schedule.at: expected a date and time of ISO 8601, got ' + (at === '' ? 'empty string' : 'string'));
});

test('an interval goes forward in whole milliseconds', () => {
  refused({ kind: 'interval', everyMs: 0 }, 'schedule.everyMs: expected number above 0, got smaller number');
  refused({ kind: 'interval', everyMs: 1.5 }, 'schedule.everyMs: expected integer, got fractional number');
});

test('a time zone must be one the runtime knows', () => {
  refused(
    { kind: 'cron', expr: '0 22 * * *', tz: 'Europe/Atlantis' },
    'schedule.tz: expected a time zone; did you mean Europe/Athens?, got string',
  );
});

test('a job is named by an id: 1 to 128 letters, digits and . _ : @ -', () => {
  const schedule = { kind: 'interval', everyMs: 1000 };
  for (const name of ['n'.repeat(128), 'team:nightly_report@2-0.1']) assert.equal(parseParams(add, { ...job, name, schedule }).name, name);
  for (const name of ['n'.repeat(129), '', 'nightly report', 'a/b', 'a*', 'é'])
    assert.throws(() => parseParams(add, { ...job, name, schedule }), /^ServiceError: Invalid params: name: /, name);
});

test('a forced run needs a name, an overdue one does not', () => {
  const missing = { message: 'Invalid params: name: expected string, got nothing' };
  assert.throws(() => parseParams(run, {}), missing);
  assert.throws(() => parseParams(run, { mode: 'force' }), missing);
  assert.deepEqual(parseParams(run, { mode: 'due' }), { mode: 'due' });
  assert.deepEqual(parseParams(run, { name: 'tick' }), { name: 'tick', mode: 'force' });
});
