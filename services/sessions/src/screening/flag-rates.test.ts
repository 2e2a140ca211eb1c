import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRates } from './flag-rates.ts';

test('reports the third and the fifth flag within five minutes once each', () => {
  let now = 0;
  const { note } = createRates(() => (now += 1_000));
  const actions = Array.from({ length: 12 }, () => note('a')?.action);
  assert.deepEqual(actions, [undefined, undefined, 'warn', undefined, 'reinforce', ...Array.from({ length: 7 }, () => undefined)]);
  assert.equal(note('b'), undefined);
  now += 300_000;
  assert.equal(note('a'), undefined, 'what is older does not count');
  note('a');
  assert.deepEqual(note('a'), { count: 3, threshold: 3, action: 'warn' });
});

test('tracks 10,000 speakers and evicts the least recently flagged one', () => {
  const { note } = createRates(() => 1);
  for (const speaker of ['kept', 'lost', 'kept']) note(speaker);
  note('lost');
  note('kept');
  for (let n = 0; n < 9_999; n += 1) note(`${n}`);
  assert.equal(note('kept')?.count, undefined, 'its fourth');
  assert.equal(note('kept')?.count, 5);
  note('lost');
  assert.equal(note('lost'), undefined, 'begins anew');
});
