import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogThrottle } from './log-throttle.ts';

test('writes the first line of a key, one more after each minute, and the next one after a reset', () => {
  let now = 1;
  const written: string[] = [];
  const throttle = createLogThrottle(() => now);
  const log = (key: string): void => throttle.log(key, () => written.push(`${key} at ${now}`));
  for (; now < 120_000; now += 250) {
    log('a');
    if (now >= 1_000) log('b');
  }
  assert.deepEqual(written, ['a at 1', 'b at 1001', 'a at 60251', 'b at 61251']);
  throttle.reset();
  log('a');
  assert.equal(written.at(-1), 'a at 120001');
});

test('keeps at most 1,000 keys', () => {
  let written = 0;
  const throttle = createLogThrottle(() => 1);
  for (let n = 0; n < 1_000; n++) throttle.log(String(n), () => written++);
  throttle.log('one more', () => written++);
  throttle.log('0', () => written++);
  assert.equal(written, 1_002);
});
