import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBreaker } from './circuit-breaker.ts';

function breaker() {
  const told: string[] = [];
  const clock = { now: 0 };
  const made = createBreaker({
    failures: 3,
    openMs: 1_000,
    onOpen: (reason) => told.push(`open: ${reason}`),
    onClose: () => told.push('close'),
    now: () => clock.now,
  });
  return { ...made, told, clock };
}

test('opens after so many failures in a row, and says why once', () => {
  const { allows, failed, succeeded, told } = breaker();
  for (const went of [failed, failed, succeeded, failed, failed]) went('slow');
  assert.ok(allows());
  for (let n = 0; n < 5; n++) failed('gone');
  assert.ok(!allows());
  assert.deepEqual(told, ['open: gone']);
});

test('after its time one call tries for all; it closes again or stays open for as long', () => {
  const { allows, failed, succeeded, told, clock } = breaker();
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
  assert.ok(allows(), 'it counts from none again');
  assert.deepEqual(told, ['open: gone', 'close']);
});
