import assert from 'node:assert/strict';
import { test } from 'node:test';
import { throttle } from './throttle.ts';

test('a thousand calls in an interval run once at its begin and once at its end', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let runs = 0;
  const { call } = throttle(() => (runs += 1), 1_000);
  for (let n = 0; n < 1_000; n += 1) call();
  assert.equal(runs, 1);
  t.mock.timers.tick(1_000);
  assert.equal(runs, 2);
  t.mock.timers.tick(10_000);
  assert.equal(runs, 2);
  call();
  assert.equal(runs, 3);
});

test('a cancelled throttle runs no more', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let runs = 0;
  const { call, cancel } = throttle(() => (runs += 1), 1_000);
  call();
  call();
  cancel();
  t.mock.timers.tick(10_000);
  assert.equal(runs, 1);
});
