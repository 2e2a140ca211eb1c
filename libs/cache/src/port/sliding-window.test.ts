import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { createWindow, take } from './sliding-window.ts';

describe('sliding window', () => {
  test('admits up to the rate and returns the time to wait', () => {
    const window = createWindow();
    const rate = { max: 3, windowMs: 1_000 };
    assert.deepEqual(
      [0, 100, 200].map((now) => take(window, rate, now)),
      [0, 0, 0],
    );
    assert.equal(take(window, rate, 400), 600);
    assert.equal(take(window, rate, 999), 1);
    assert.equal(take(window, rate, 1_000), 0);
    assert.equal(take(window, rate, 1_001), 99);
  });

  test('admits several events completely or returns the time to wait', () => {
    const window = createWindow();
    const rate = { max: 4, windowMs: 1_000 };
    assert.equal(take(window, rate, 0, 2), 0);
    assert.equal(take(window, rate, 500, 2), 0);
    assert.equal(take(window, rate, 600, 1), 400);
    assert.equal(take(window, rate, 600, 3), 900, 'both runs have to expire');
    assert.equal(take(window, rate, 600, 5), Number.POSITIVE_INFINITY);
    assert.equal(take(window, rate, 1_000, 2), 0, 'the rejected amount is not counted');
  });

  test('is empty one window after a burst', () => {
    const window = createWindow();
    const rate = { max: 5, windowMs: 200 };
    for (let i = 0; i < 5; i++) assert.equal(take(window, rate, 10), 0);
    assert.ok(take(window, rate, 209) > 0);
    for (let i = 0; i < 5; i++) assert.equal(take(window, rate, 210), 0);
  });

  test('stays small at a high rate', () => {
    const window = createWindow();
    const rate = { max: 1_000_000, windowMs: 60_000 };
    for (let now = 0; now < 120_000; now++) take(window, rate, now);
    assert.ok(window.counts.length <= 66, `${window.counts.length} runs`);
    assert.ok(window.total <= 61_000);
  });

  test('follows a changed rate', () => {
    const window = createWindow();
    for (let i = 0; i < 5; i++) take(window, { max: 5, windowMs: 1_000 }, 0);
    assert.ok(take(window, { max: 5, windowMs: 1_000 }, 1) > 0);
    assert.equal(take(window, { max: 6, windowMs: 1_000 }, 1), 0);
  });

  test('never exceeds the rate within any window', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 200 }), fc.integer({ min: 1, max: 10 }), (steps, max) => {
        const rate = { max, windowMs: 1_000 };
        const window = createWindow();
        const accepted: number[] = [];
        let now = 0;
        for (const step of steps) {
          now += step;
          if (take(window, rate, now) === 0) accepted.push(now);
          assert.ok(accepted.filter((at) => at > now - rate.windowMs).length <= max);
        }
      }),
    );
  });

  test('admits a caller that waited for the returned time', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 100 }), { minLength: 20, maxLength: 100 }), (steps) => {
        const rate = { max: 5, windowMs: 1_000 };
        const window = createWindow();
        let now = 0;
        for (const step of steps) {
          now += step;
          const wait = take(window, rate, now);
          if (wait === 0) continue;
          now += wait;
          assert.equal(take(window, rate, now), 0);
        }
      }),
    );
  });
});
