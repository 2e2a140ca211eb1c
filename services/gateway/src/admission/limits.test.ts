import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createGauge, createRateLimiter } from './limits.ts';

describe('a limiter of many keys', () => {
  const rate = { max: 1, windowMs: 1_000 };

  test('counts each key alone', () => {
    const limiter = createRateLimiter({ now: () => 0 });
    assert.equal(limiter.take('a', rate), 0);
    assert.equal(limiter.take('b', rate), 0);
    assert.ok(limiter.take('a', rate) > 0);
  });

  test('forgets keys that are quiet, and is bounded when none is', () => {
    let now = 0;
    const limiter = createRateLimiter({ now: () => now });
    for (let i = 0; i < 9_000; i++) limiter.take(`old-${i}`, rate);
    now = 5_000;
    for (let i = 0; i < 1_001; i++) limiter.take(`new-${i}`, rate);
    assert.ok(limiter.size < 2_000, `${limiter.size} keys`);
    for (let i = 0; i < 60_000; i++) limiter.take(`flood-${i}`, rate);
    assert.ok(limiter.size <= 50_000, `${limiter.size} keys`);
  });
});

test('a gauge counts what is open', () => {
  const gauge = createGauge();
  gauge.add('a');
  gauge.add('a');
  gauge.remove('a');
  assert.equal(gauge.count('a'), 1);
  gauge.remove('a');
  gauge.remove('a');
  assert.equal(gauge.count('a'), 0);
});
