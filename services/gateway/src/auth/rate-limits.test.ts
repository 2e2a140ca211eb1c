import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createGauge, createRateLimiter } from './rate-limits.ts';

describe('createRateLimiter', () => {
  const rate = { max: 1, windowMs: 1_000 };

  test('counts each key separately', () => {
    const limiter = createRateLimiter({ now: () => 0 });
    assert.equal(limiter.take('a', rate), 0);
    assert.equal(limiter.take('b', rate), 0);
    assert.ok(limiter.take('a', rate) > 0);
  });

  test('evicts the least recently used keys above 50,000', () => {
    const limiter = createRateLimiter({ now: () => 0 });
    limiter.take('quiet', rate);
    limiter.take('active', rate);
    for (let i = 0; i < 60_000; i++) {
      limiter.take(`flood-${i}`, rate);
      if (i % 1_000 === 0) limiter.take('active', rate);
    }
    assert.equal(limiter.size, 50_000);
    assert.deepEqual([limiter.getRemaining('quiet', rate), limiter.getRemaining('active', rate)], [1, 0]);
  });
});

test('createGauge counts added and removed keys', () => {
  const gauge = createGauge();
  gauge.add('a');
  gauge.add('a');
  gauge.remove('a');
  assert.equal(gauge.count('a'), 1);
  gauge.remove('a');
  gauge.remove('a');
  assert.equal(gauge.count('a'), 0);
});
