import assert from 'node:assert/strict';
import { test } from 'node:test';
import { classify } from './provider-errors.ts';
import { UpstreamError } from './upstream-error.ts';

const CALLEE = { provider: 'up', keyName: 'UP_KEY', key: 'very-private' };

function refused(headers: Record<string, string>, message = 'no'): UpstreamError {
  return new UpstreamError(message, { status: 429, headers });
}

function after(headers: Record<string, string>): number | undefined {
  return classify(refused(headers), CALLEE).retryAfterMs;
}

test('parses Retry-After as milliseconds, seconds or a date', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.parse('2026-11-01T00:00:00Z') });
  assert.equal(after({ 'retry-after-ms': '250', 'retry-after': '9' }), 250);
  assert.equal(after({ 'retry-after': '1.5' }), 1_500);
  assert.equal(after({ 'retry-after': 'Sun, 01 Nov 2026 00:00:10 GMT' }), 10_000);
  assert.equal(after({ 'retry-after': 'Sat, 31 Oct 2026 00:00:00 GMT' }), 0);
  assert.equal(after({ 'retry-after': 'soon' }), undefined);
  assert.equal(after({}), undefined);
});

test('does not retry with x-should-retry: false', () => {
  assert.equal(classify(refused({}), CALLEE).transient, true);
  assert.equal(classify(refused({ 'x-should-retry': 'false' }), CALLEE).transient, false);
});

test('shortens provider messages and redacts keys', () => {
  const text = `bad\nkey very-private or sk-proj-abcdefghijklmnop, Bearer abc ${'x'.repeat(500)}`;
  const { message } = classify(refused({}, text), CALLEE).error;

  assert.match(message, /bad key \[REDACTED\] or \[REDACTED\], \[REDACTED\] x+…$/);
  assert.ok(message.length < 400);
});

test('names a provider by display name and id', () => {
  assert.match(
    classify(refused({}), { ...CALLEE, title: 'The GPUs in Oslo' }).error.message,
    /^provider The GPUs in Oslo \(up\): rate limit exceeded/,
  );
  assert.match(classify(refused({}), { ...CALLEE, title: 'up' }).error.message, /^provider up: rate limit exceeded/);
});

test('maps unexpected errors to INTERNAL without a retry', () => {
  const { error, transient } = classify(new RangeError('a bug'), CALLEE);
  assert.deepEqual([error.code, transient], ['INTERNAL', false]);
});
