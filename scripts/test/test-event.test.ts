import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readTestEvent } from './test-event.ts';

test('readTestEvent reads results of tests and suites', () => {
  const details = { duration_ms: 3 };
  const base = { name: 'a', nesting: 1, file: '/a.test.ts' };
  const read = (type: string, data: object): unknown => readTestEvent({ type, data: { ...base, details, ...data } });
  const expected = { kind: 'test', name: 'a', nesting: 1, file: '/a.test.ts', durationMs: 3 };
  assert.deepEqual(read('test:pass', {}), { ...expected, outcome: 'passed' });
  assert.deepEqual(read('test:fail', {}), { ...expected, outcome: 'failed' });
  assert.deepEqual(read('test:pass', { skip: 'no NATS' }), { ...expected, outcome: 'skipped' });
  assert.deepEqual(read('test:fail', { todo: true }), { ...expected, outcome: 'todo' });
  assert.deepEqual(read('test:pass', { details: { ...details, type: 'suite' } }), { ...expected, kind: 'suite', outcome: 'passed' });
  assert.equal(read('test:diagnostic', {}), undefined);
});
