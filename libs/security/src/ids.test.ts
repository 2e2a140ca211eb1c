import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { acceptRequestId, deriveId, mintId, randomBase62 } from './ids.ts';

test('ids have one form and do not repeat', () => {
  const ids = Array.from({ length: 2_000 }, () => mintId('turn'));
  for (const id of ids) assert.match(id, /^turn_[0-9A-Za-z]{22}$/);
  assert.equal(new Set(ids).size, ids.length);
});

test('deriveId is deterministic and differs for other texts', () => {
  assert.match(deriveId('turn', 'a', 'b'), /^turn_[0-9A-Za-z]{22}$/);
  assert.equal(deriveId('turn', 'a', 'b'), deriveId('turn', 'a', 'b'));
  const others = [['a', 'c'], ['ab', ''], ['', 'ab'], ['a', 'b', ''], ['a","b'], []];
  assert.equal(new Set([['a', 'b'], ...others].map((texts) => deriveId('turn', ...texts))).size, 7);
});

test('all digits are equally likely', () => {
  const counts = new Map<string, number>();
  for (let n = 0; n < 20_000; n++) for (const digit of randomBase62(22)) counts.set(digit, (counts.get(digit) ?? 0) + 1);
  const expected = (20_000 * 22) / 62;
  assert.equal(counts.size, 62);
  // Eight standard deviations; a random byte modulo 62 would be off by a fifth.
  for (const [digit, count] of counts) assert.ok(Math.abs(count - expected) < 8 * Math.sqrt(expected), `${digit}: ${count} of ${expected}`);
});

test('randomBase62 returns the requested length and rejects longer ones', () => {
  assert.match(randomBase62(8), /^[0-9A-Za-z]{8}$/);
  assert.throws(() => randomBase62(23), RangeError);
});

test('acceptRequestId keeps a safe id', () => {
  for (const id of ['a', 'A.b_c-9', 'x'.repeat(128)]) assert.equal(acceptRequestId(id), id);
});

test('acceptRequestId replaces an unsafe id', () => {
  for (const id of ['', 'x'.repeat(129), 'a b', 'a\n', 'ä', undefined, 7, ['a']])
    assert.match(acceptRequestId(id), /^req_[0-9A-Za-z]{22}$/);
  fc.assert(
    fc.property(fc.string(), (text) => {
      assert.match(acceptRequestId(text), /^[A-Za-z0-9._-]{1,128}$/);
    }),
  );
});
