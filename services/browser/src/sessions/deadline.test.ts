import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { convertDriverFailure, PageUnresponsive } from './deadline.ts';

test('failures of the driver are UNAVAILABLE and retryable', () => {
  for (const failure of [
    new Error('page.evaluate: Execution context was destroyed, most likely because of a navigation'),
    new Error('browserContext.newPage: Target page, context or browser has been closed'),
    new Error('Execution context was destroyed, most likely because of a navigation'),
    new Error('Protocol error (Target.getTargetInfo): No target with given id found'),
    new Error('frame.evaluateHandle: Frame was detached\nCall log:\n  - waiting'),
    Object.assign(new Error('page.screenshot: Timeout 5000ms exceeded.'), { name: 'TimeoutError' }),
    new (class extends Error {})('frame.evaluateHandle: Execution context was destroyed'),
    new PageUnresponsive(),
  ]) {
    const error = convertDriverFailure(failure);
    assert.ok(error instanceof ServiceError, failure.message);
    assert.deepEqual([error.code, error.retryable], ['UNAVAILABLE', true], failure.message);
    assert.match(error.message, /Repeat the call/);
    assert.doesNotMatch(error.message, /Call log/);
  }
});

test('defects and typed errors stay what they are', () => {
  const noEntry = Object.assign(new Error('ENOENT: no such file'), { code: 'ENOENT' });
  for (const error of [new TypeError('x is not a function'), new ServiceError('NOT_FOUND', 'no tab'), noEntry]) {
    assert.equal(convertDriverFailure(error), error);
  }
});
