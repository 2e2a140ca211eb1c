import assert from 'node:assert/strict';
import { test } from 'node:test';
import { layOut } from './lay-out.ts';

test('lays out steps by their start', () => {
  const steps = [
    { at: 0, ms: 100 },
    { at: 300, ms: 100 },
  ];
  assert.deepEqual(layOut(steps), [
    { start: 0, size: 25 },
    { start: 75, size: 25 },
  ]);
});

test('lays out a step without a start after the one before it', () => {
  assert.deepEqual(layOut([{ ms: 50 }, { ms: 50 }]), [
    { start: 0, size: 50 },
    { start: 50, size: 50 },
  ]);
});

test('keeps every bar visible and inside the axis', () => {
  for (const { start, size } of layOut([{ at: 0, ms: 1_000_000 }, { at: 1_000_000, ms: 0 }, { ms: 0 }])) {
    assert.ok(size >= 0.5);
    assert.ok(start >= 0 && start + size <= 100);
  }
  assert.deepEqual(layOut([]), []);
});
