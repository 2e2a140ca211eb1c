import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSeldom } from './seldom.ts';

test('each thing is said at once, again once a minute, and as new after it was forgotten', () => {
  let now = 0;
  const written: string[] = [];
  const seldom = createSeldom(() => now);
  const say = (what: string): void => seldom.say(what, () => written.push(`${what} at ${now}`));
  for (; now < 120_000; now += 250) {
    say('a');
    if (now >= 1_000) say('b');
  }
  assert.deepEqual(written, ['a at 0', 'b at 1000', 'a at 60000', 'b at 61000']);
  seldom.forget();
  say('a');
  assert.equal(written.at(-1), 'a at 120000');
});

test('however many there are, it keeps a bounded number of them', () => {
  let written = 0;
  const seldom = createSeldom(() => 0);
  for (let n = 0; n < 1_000; n++) seldom.say(String(n), () => written++);
  seldom.say('one more', () => written++);
  seldom.say('0', () => written++);
  assert.equal(written, 1_002);
});
