import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AgentConfig } from '@switchyard/contracts';
import type { SessionDocument } from '../model/session-document.ts';
import { getExpiry } from './reset-policy.ts';

const getPolicy = (resetPolicy: object) => AgentConfig.parse({ session: { resetPolicy } }).session.resetPolicy;
const session = (updatedAt: string, more: object = {}) =>
  ({ key: 'default:ann:gateway', kind: 'dm', messageCount: 2, updatedAt: Date.parse(updatedAt), ...more }) as unknown as SessionDocument;
const at = Date.parse;

test('without a policy no conversation expires, nor do empty ones or those of sub-agents', () => {
  const idle = getPolicy({ mode: 'idle', idleTimeoutMs: 1 });
  assert.equal(getExpiry(undefined, session('2001-01-01T00:00Z'), at('2031-01-01')), undefined);
  assert.equal(getExpiry(getPolicy({ mode: 'none' }), session('2001-01-01T00:00Z'), at('2031-01-01')), undefined);
  for (const more of [{ messageCount: 0 }, { kind: 'sub-agent' }])
    assert.equal(getExpiry(idle, session('2001-01-01T00:00Z', more), at('2031-01-01')), undefined);
  assert.equal(getExpiry(idle, session('2001-01-01T00:00Z'), at('2031-01-01')), 'auto-reset:idle');
});

test('daily: expires with the first turn after the hour in its time zone, in summer and winter', () => {
  const berlin = getPolicy({ mode: 'daily', dailyResetHour: 4, dailyResetTimezone: 'Europe/Berlin' });
  // Winter: 4:00 there is 3:00 UTC.
  const winter = session('2026-01-10T01:00Z');
  assert.equal(getExpiry(berlin, winter, at('2026-01-10T02:59:59Z')), undefined);
  assert.equal(getExpiry(berlin, winter, at('2026-01-10T03:00Z')), 'auto-reset:daily');
  assert.equal(getExpiry(berlin, session('2026-01-10T03:01Z'), at('2026-01-11T02:59Z')), undefined);
  const summer = session('2026-07-10T01:00Z');
  assert.equal(getExpiry(berlin, summer, at('2026-07-10T01:59Z')), undefined);
  assert.equal(getExpiry(berlin, summer, at('2026-07-10T02:00Z')), 'auto-reset:daily');
  // The night in which clocks go back has one hour twice, and one morning.
  const back = session('2026-10-25T00:30Z');
  assert.equal(getExpiry(berlin, back, at('2026-10-25T02:59Z')), undefined);
  assert.equal(getExpiry(berlin, back, at('2026-10-25T03:00Z')), 'auto-reset:daily');
  assert.equal(
    getExpiry(getPolicy({ dailyResetTimezone: 'No/Where' }), session('2026-01-10T03:59Z'), at('2026-01-10T04:00Z')),
    'auto-reset:daily',
  );
});

test('idle: expires after the timeout; hybrid: after whichever comes first', () => {
  const hybrid = { mode: 'hybrid', dailyResetHour: 4, dailyResetTimezone: 'UTC', idleTimeoutMs: 3_600_000 };
  const noon = session('2026-01-10T12:00Z');
  assert.equal(getExpiry(getPolicy({ ...hybrid, mode: 'idle' }), noon, at('2026-01-10T12:59Z')), undefined);
  assert.equal(getExpiry(getPolicy({ ...hybrid, mode: 'idle' }), noon, at('2026-01-11T13:00Z')), 'auto-reset:idle');
  assert.equal(getExpiry(getPolicy(hybrid), noon, at('2026-01-10T13:00Z')), 'auto-reset:idle');
  assert.equal(getExpiry(getPolicy(hybrid), session('2026-01-10T03:30Z'), at('2026-01-10T04:10Z')), 'auto-reset:daily');
  assert.equal(getExpiry(getPolicy(hybrid), noon, at('2026-01-11T13:00Z')), 'auto-reset:daily+idle');
});

test('direct messages, groups and threads have their own policies', () => {
  const perType = { group: { mode: 'none' }, thread: { idleTimeoutMs: 1_000 } };
  const policy = getPolicy({ mode: 'idle', idleTimeoutMs: 60_000, perType });
  const then = '2026-01-10T12:00:00Z';
  const soon = at('2026-01-10T12:00:02Z');
  assert.equal(getExpiry(policy, session(then), soon), undefined);
  assert.equal(getExpiry(policy, session(then, { key: 'default:ann:chat:thread:7' }), soon), 'auto-reset:idle');
  assert.equal(getExpiry(policy, session(then, { key: 'default:ann:chat:guild:7', kind: 'group' }), at('2031-01-01')), undefined);
});
