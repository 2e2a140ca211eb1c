import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBreaker } from './circuit-breaker.ts';

function breaker() {
  const transitions: string[] = [];
  const clock = { now: 0 };
  const made = createBreaker({
    failures: 3,
    openMs: 1_000,
    onOpen: (reason) => transitions.push(`open: ${reason}`),
    onClose: () => transitions.push('close'),
    now: () => clock.now,
  });
  return { ...made, transitions, clock };
}

test('opens after consecutive failures and reports the reason once', () => {
  const { allows, failed, succeeded, transitions } = breaker();
  for (const went of [failed, failed, succeeded, failed, failed]) went('slow');
  assert.ok(allows());
  for (let n = 0; n < 5; n++) failed('gone');
  assert.ok(!allows());
  assert.deepEqual(transitions, ['open: gone']);
});

test('lets one probe through after openMs and closes or reopens', () => {
  const { allows, failed, succeeded, transitions, clock } = breaker();
  for (let n = 0; n < 3; n++) failed('gone');
  clock.now = 999;
  assert.ok(!allows());
  clock.now = 1_000;
  assert.deepEqual([allows(), allows()], [true, false]);
  failed('gone');
  clock.now = 1_999;
  assert.ok(!allows());
  clock.now = 2_000;
  assert.ok(allows());
  succeeded();
  assert.deepEqual([allows(), allows()], [true, true]);
  failed('slow');
  assert.ok(allows(), 'the failure count starts at 0 again');
  assert.deepEqual(transitions, ['open: gone', 'close']);
});
