import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RpcError } from '@switchyard/client';
import type { ErrorCode } from '@switchyard/contracts';
import { getRetryDelay, isUnanswered } from './recovery.ts';
import { RouteError } from './route-error.ts';

const fail = (code: ErrorCode, retryAfterMs?: number): RpcError =>
  new RpcError(-32603, 'failed', { code, requestId: 'r', retryable: false, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });

test('a failed read is repeated with growing pauses', () => {
  const delays = [1, 2, 3, 4, 5, 50].map((failures) => getRetryDelay(fail('UNAVAILABLE'), failures, true));
  assert.deepEqual(delays, [5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
  assert.equal(getRetryDelay(new TypeError('Failed to fetch'), 1, true), 5_000);
});

test('a refused call is not repeated, and nothing is repeated without a token', () => {
  for (const code of ['UNAUTHENTICATED', 'PERMISSION_DENIED', 'INVALID_ARGUMENT'] as const)
    assert.equal(getRetryDelay(fail(code), 1, true), false);
  assert.equal(getRetryDelay(new RouteError('/api/audit', 403), 1, true), false);
  assert.equal(getRetryDelay(new RouteError('/api/audit', 502), 1, true), 5_000);
  assert.equal(getRetryDelay(fail('UNAVAILABLE'), 1, false), false);
});

test('a call over its limit waits as long as the gateway asks for', () => {
  assert.equal(getRetryDelay(fail('RESOURCE_EXHAUSTED', 90_000), 1, true), 90_000);
  assert.equal(getRetryDelay(fail('RESOURCE_EXHAUSTED', 10), 1, true), 5_000);
});

test('a call without a responder is told apart from other failures', () => {
  const unanswered = new RpcError(-32603, 'failed', { code: 'UNAVAILABLE', reason: 'NO_RESPONDERS', requestId: 'r', retryable: true });
  assert.deepEqual([unanswered, fail('UNAVAILABLE'), new TypeError('Failed to fetch')].map(isUnanswered), [true, false, false]);
});
